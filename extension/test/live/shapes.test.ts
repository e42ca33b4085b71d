import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.ts';

const { numbersOf } = await load('frames/decode.js');
const { NOWHERE, arrowSegments, looksOf, pixelsAcross, shapesOf } = await load('painting/shapes.js');
const { cellAt, nearest } = await load('input/pointer.js');
const { FlatCamera } = await load('painting/camera.js');

const base64 = (bytes: ArrayLike<number>) => Buffer.from(Uint8Array.from(bytes)).toString('base64');
const GREYS = base64(Array.from({ length: 768 }, (_, index) => Math.floor(index / 3)));
const layer = (kind: string, more = {}) => ({ kind, label: kind, color: null, map: null, size: null, ...more });
const scene = (...layers: object[]) => ({ dimensions: 2, bounds: [[0, 1], [0, 1]], layers, maps: { greys: GREYS } });
const shapes = (drawn: any, arrays: object, data: ArrayBuffer) =>
  shapesOf(drawn, looksOf(drawn), { layers: [{ arrays }] }, new DataView(data), '#102030')[0];

test('codes are numbers between the limits of their axis, the last one is none', () => {
  const codes = Uint16Array.of(0, 65534, 32767, 65535);
  const described = { type: 'u16', offset: 0, shape: [2, 2], low: [0, 1], high: [2, 5] };
  const found = numbersOf(described, new Uint8Array(codes.buffer));
  assert.deepEqual([...found], [0, 5, 1, NaN].map(Math.fround));
});

test('a point that is not finite has no place, lines to it are left out', () => {
  const codes = Uint16Array.of(0, 0, 65534, 65534, 65535, 7);
  const indices = { shape: [2, 2], data: base64(new Uint8Array(Uint32Array.of(0, 1, 1, 2).buffer)) };
  const positions = { type: 'u16', offset: 0, shape: [3, 2], low: [0, 0], high: [1, 1] };
  const made = shapes(scene(layer('lines', { indices })), { positions }, codes.buffer);
  assert.deepEqual([...made.positions], [0, 0, 0, 1, 1, 0, ...Array(3).fill(Math.fround(NOWHERE))]);
  assert.deepEqual([...made.corners], [0, 1]);
  assert.deepEqual([...made.shades.subarray(0, 4)], [0x10, 0x20, 0x30, 255]);
});

test('axis 0 of a grid is x, axis 1 is y upwards; missing values are said', () => {
  const codes = Uint8Array.of(0, 254, 127, 255, 0, 0, 0, 0);
  const values = { type: 'u8', offset: 0, shape: [2, 2], low: -1, high: 3 };
  const made = shapes(scene(layer('grid', { map: 'greys' })), { values }, codes.buffer);
  const reds = [0, 1, 2, 3].map(pixel => made.image[4 * pixel]);
  assert.deepEqual(reds, [0, 128, 255, 128]); // the lowest row first: (0, 0), (1, 0), (0, 1), (1, 1)
  assert.deepEqual(made.range, { low: -1, high: 3, missing: true });
  assert.deepEqual(cellAt(made, [0.6, 0.2]), [1, 0]);
  assert.equal(cellAt(made, [1.2, 0.2]), null);
});

test('an image has colours of its own, axis 1 upwards', () => {
  const colours = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  const colors = { type: 'u8', offset: 0, shape: [2, 2, 3] };
  const made = shapes(scene(layer('image')), { colors }, colours.buffer);
  assert.deepEqual([...made.image], [1, 2, 3, 255, 7, 8, 9, 255, 4, 5, 6, 255, 10, 11, 12, 255]);
  assert.deepEqual([made.cells, made.box, made.range], [[2, 2], [[0, 1], [0, 1]], null]);
});

test('layers of a frame alone bring their looks, and have sizes in units of the world', () => {
  const codes = Uint16Array.of(0, 0, 65534, 65534, 0, 65534);
  const positions = { type: 'u16', offset: 0, shape: [3, 2], low: [0, 0], high: [1, 1] };
  const header = {
    layers: [
      { kind: 'mesh', color: '#ff0000', size: null, arrays: { positions } },
      { kind: 'points', color: '#00ff00', size: 0.25, arrays: { positions } },
    ],
  };
  const empty = scene();
  const [mesh, points] = shapesOf(empty, looksOf(empty), header, codes.buffer, '#000000');
  assert.deepEqual([...mesh.corners], [0, 1, 2]);
  assert.deepEqual([...mesh.shades.subarray(0, 4)], [255, 0, 0, 255]);
  const seen = { camera: new FlatCamera([[0, 1], [0, 1]]), width: 200, height: 100 };
  assert.equal(pixelsAcross(points, seen), 25);
  assert.equal(pixelsAcross(shapes(scene(layer('points', { size: 4 })), { positions }, codes.buffer), seen), 4);
});

test('an arrow is a shaft and two barbs; one that is not finite is left out', () => {
  const data = new ArrayBuffer(24);
  new Uint16Array(data, 0, 4).set([0, 0, 65534, 65534]);
  new Float32Array(data, 8, 4).set([0.5, 0, NaN, 0]);
  const positions = { type: 'u16', offset: 0, shape: [2, 2], low: [0, 0], high: [1, 1] };
  const vectors = { type: 'f32', offset: 8, shape: [2, 2] };
  const made = shapes(scene(layer('arrows', { color: '#ff0000' })), { positions, vectors }, data);
  const matrix = new FlatCamera([[0, 1], [0, 1]]).matrix(100, 100);
  const { ends, colours } = arrowSegments(made, matrix, 100, 100);
  assert.equal(ends.length, 3 * 6);
  [-1, -1, 0, -1].forEach((each, index) => assert.ok(Math.abs(ends[[0, 1, 3, 4][index]!]! - each) < 1e-5));
  assert.deepEqual([...colours.subarray(0, 4)], [255, 0, 0, 255]);
});

test('the nearest point within reach is found, and none beyond', () => {
  const codes = Uint16Array.of(0, 0, 65534, 65534);
  const positions = { type: 'u16', offset: 0, shape: [2, 2], low: [0, 0], high: [1, 1] };
  const made = shapes(scene(layer('points')), { positions }, codes.buffer);
  const matrix = new FlatCamera([[0, 1], [0, 1]]).matrix(100, 100);
  assert.equal(nearest(made, matrix, 100, 100, 95, 3).index, 1);
  assert.equal(nearest(made, matrix, 100, 100, 50, 50), null);
});

test('of the frames that were played the newest are kept, and the nearest is shown', async () => {
  const { KeptFrames } = await load('frames/kept_frames.js');
  const kept = new KeptFrames(30);
  assert.equal(kept.near(0), undefined);
  const frame = (number: number) => ({ number, data: new DataView(new ArrayBuffer(10)) });
  [0, 5, 9, 5].forEach(number => kept.add(number, frame(number)));
  assert.deepEqual([0, 4, 100].map(number => kept.near(number).number), [0, 5, 9]);
  kept.add(20, frame(20));
  assert.deepEqual([0, 21].map(number => kept.near(number).number), [5, 20]);
});

test('Enter goes through points with a place and grids that are painted', async () => {
  const { nextPlace } = await load('input/key_pointer.js');
  const positions = Float32Array.of(0, 0, 0, NOWHERE, NOWHERE, NOWHERE, 1, 1, 0);
  const shapes = [
    { layer: { paint: true }, cells: [5, 4] },
    { layer: { drag: true }, positions, count: 3 },
    { layer: { drag: false }, positions, count: 3 },
  ];
  const cell = { layer: 0, cell: [2, 2] };
  const points = [{ layer: 1, index: 0 }, { layer: 1, index: 2 }];
  assert.deepEqual(nextPlace(shapes, null, 1), cell);
  assert.deepEqual(nextPlace(shapes, { layer: 0, cell: [1, 1] }, 1), points[0]);
  assert.deepEqual(nextPlace(shapes, points[0], 1), points[1]);
  assert.deepEqual(nextPlace(shapes, points[1], 1), cell);
  assert.deepEqual(nextPlace(shapes, null, -1), points[1]);
  assert.equal(nextPlace([], null, 1), null);
});
