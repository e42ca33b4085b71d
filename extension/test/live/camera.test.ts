import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.ts';

const { FlatCamera, OrbitCamera, inWorld, onScreen } = await load('painting/camera.js');
const close = (found: number[], wanted: number[], off = 1e-6) =>
  wanted.forEach((each, index) => assert.ok(Math.abs((found[index] ?? NaN) - each) < off, `${found} is not ${wanted}`));

test('a flat picture is as large as fits, with one scale, axis 1 upwards', () => {
  const matrix = new FlatCamera([[0, 2], [10, 11]]).matrix(400, 400);
  close(onScreen(matrix, 400, 400, 0, 10, 0), [0, 300]);
  close(onScreen(matrix, 400, 400, 2, 11, 0), [400, 100]);
  close(onScreen(matrix, 400, 400, 1, 10.5, 0), [200, 200]);
});

test('pixels lead back to the point, in two and in three dimensions', () => {
  const flat = new FlatCamera([[0, 2], [10, 11]]).matrix(640, 480);
  close(inWorld(flat, 640, 480, 320, 240, 0), [1, 10.5]);
  const camera = new OrbitCamera([[0, 1], [-1, 1], [2, 5]]);
  camera.turn(1.2, -0.4);
  const matrix = camera.matrix(640, 480);
  const [left, top, depth] = onScreen(matrix, 640, 480, 0.3, -0.8, 4.5);
  close(inWorld(matrix, 640, 480, left, top, depth), [0.3, -0.8, 4.5]);
});

test('the middle of an orbit is in the middle at its distance, and the whole box is in the picture', () => {
  const bounds = [[0, 1], [-1, 1], [2, 5]];
  const camera = new OrbitCamera(bounds);
  for (const [width, height] of [[640, 480], [200, 600]]) {
    for (let turn = 0; turn < 8; turn++) {
      camera.turn(0.8, 0.3 * (turn % 2 ? 1 : -1));
      const matrix = camera.matrix(width, height);
      const middle = onScreen(matrix, width, height, 0.5, 0, 3.5);
      close(middle, [width! / 2, height! / 2]);
      close([middle[3]], [camera.reference]);
      for (let corner = 0; corner < 8; corner++) {
        const at = bounds.map((limits, axis) => limits[(corner >> axis) & 1]);
        const [left, top, depth] = onScreen(matrix, width, height, ...at);
        assert.ok(left >= 0 && left <= width! && top >= 0 && top <= height! && depth > -1 && depth < 1);
      }
    }
  }
});

test('axis 1 of an orbit is upwards, however it is turned', () => {
  const camera = new OrbitCamera([[0, 1], [0, 1], [0, 1]]);
  for (const pitch of [0, 5, -9]) {
    camera.turn(0.7, pitch);
    const matrix = camera.matrix(300, 300);
    assert.ok(onScreen(matrix, 300, 300, 0.5, 1, 0.5)[1] < onScreen(matrix, 300, 300, 0.5, 0, 0.5)[1]);
  }
});

test('what is nearer has the smaller depth', () => {
  const matrix = new OrbitCamera([[0, 1], [0, 1], [0, 1]]).matrix(300, 300);
  const near = onScreen(matrix, 300, 300, 1, 1, 1);
  const far = onScreen(matrix, 300, 300, 0, 0, 0);
  assert.ok(near[2] < far[2] && near[3] < far[3]);
});
