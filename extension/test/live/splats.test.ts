/** Discs in an image. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.ts';

const { Splats } = await load('painting/splats.js');
const RED = 0xff0000ff;
const BLUE = 0xffff0000;

const alphas = (splats: any) => Array.from(splats.pixels, (pixel: number) => pixel >>> 24);
const sum = (numbers: number[]) => numbers.reduce((all, each) => all + each, 0);

test('a disc covers its area, about its middle', () => {
  const splats = new Splats(20, 20);
  for (const across of [3, 5, 8]) {
    splats.clear();
    splats.add(10.1, 9.9, across, RED);
    const cover = alphas(splats);
    const area = sum(cover) / 255;
    assert.ok(Math.abs(area / ((Math.PI * across * across) / 4) - 1) < 0.1, `${across}: ${area}`);
    const x = sum(cover.map((each, index) => each * ((index % 20) + 0.5))) / sum(cover);
    const y = sum(cover.map((each, index) => each * (Math.floor(index / 20) + 0.5))) / sum(cover);
    assert.ok(Math.abs(x - 10.1) < 0.15 && Math.abs(y - 9.9) < 0.15, `${x} ${y}`);
  }
});

test('the last disc covers those before it, and lets them through at its edge', () => {
  const splats = new Splats(9, 9);
  splats.add(4.5, 4.5, 9, RED);
  splats.add(4.5, 4.5, 3, BLUE);
  assert.equal(splats.pixels[4 * 9 + 4], BLUE);
  assert.equal(splats.pixels[4 * 9 + 1], RED);
  const edge = splats.pixels[5 * 9 + 3]!;
  assert.ok((edge & 255) > 0 && ((edge >>> 16) & 255) > 0);
  assert.equal(edge >>> 24, 255);
});

test('colours are premultiplied', () => {
  const splats = new Splats(5, 5);
  splats.add(2.5, 2.5, 4, 0x800000ff);
  assert.equal(splats.pixels[2 * 5 + 2], 0x80000080);
});

test('discs at the edges are cut off, and those outside are left out', () => {
  const splats = new Splats(6, 4);
  for (const [x, y] of [[0, 0], [6, 4], [-0.5, 2], [6.5, 2]]) {
    splats.clear();
    splats.add(x, y, 4, RED);
    assert.ok(splats.pixels.some((pixel: number) => pixel !== 0));
  }
  splats.clear();
  for (const [x, y] of [[-9, 2], [2, 99], [NaN, 2], [2, Infinity]]) {
    splats.add(x, y, 4, RED);
  }
  assert.ok(splats.pixels.every((pixel: number) => pixel === 0));
  splats.add(5.9, 2, 2, RED);
  assert.equal(splats.pixels[2 * 6 + 0], 0, 'nothing goes on at the other edge');
});
