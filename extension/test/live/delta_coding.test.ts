import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { load } from './pages.ts';

const { restored } = await load('frames/delta_coding.js');
const { EmbeddedSource } = await load('frames/source.js');

const header = (type: string, size: number) => ({ layers: [{ arrays: { positions: { type, offset: 0, shape: [size, 1] } } }] });
const words = (buffer: Uint8Array, count: number) => [...new Uint16Array(buffer.buffer, 0, count)];

test('low bytes come before high bytes', () => {
  const found = restored(header('u16', 3), 0, Uint8Array.of(1, 2, 3, 0, 1, 255), []);
  assert.deepEqual(words(found, 3), [1, 0x102, 0xff03]);
});

test('differences have their sign in the lowest bit and go round at the ends', () => {
  const before = new Uint8Array(Uint16Array.of(5, 5, 0, 65535).buffer);
  // +2, -3, -1, +1 as 4, 5, 1, 2
  const found = restored(header('u16', 4), 1, Uint8Array.of(4, 5, 1, 2, 0, 0, 0, 0), [before]);
  assert.deepEqual(words(found, 4), [7, 2, 65535, 0]);
});

test('the second order adds the last motion', () => {
  const [before, earlier] = [[10, 250], [7, 3]].map(codes => new Uint8Array(Uint8Array.of(...codes, 0, 0).buffer));
  const found = restored(header('u8', 2), 2, Uint8Array.of(0, 1), [before, earlier]);
  assert.deepEqual([...found.subarray(0, 2)], [13, (250 + 247 - 1) % 256]);
});

test('arrays lie where the header says, and the last one is padded', () => {
  const arrays = { values: { type: 'u8', offset: 0, shape: [3] }, positions: { type: 'u16', offset: 4, shape: [1, 1] } };
  const found = restored({ layers: [{ arrays }] }, 0, Uint8Array.of(1, 2, 3, 7, 1), []);
  assert.deepEqual([...found], [1, 2, 3, 0, 7, 1, 0, 0]);
});

/** Frames of one number, 100 + k squared: the third and later ones are of order 2, but each fourth of order 0. */
const frames = Array.from({ length: 12 }, (_, k) => {
  const value = (at: number) => 100 + at * at;
  const order = Math.min(k % 4, 2);
  const predicted = [0, value(k - 1), 2 * value(k - 1) - value(k - 2)][order]!;
  const number = order === 0 ? value(k) : 2 * (value(k) - predicted);
  const data = deflateSync(Uint8Array.of(number & 255, number >> 8)).toString('base64');
  return { header: { ...header('u16', 1), number: k }, order, data };
});

test('frames are right in whatever order one seeks them, also all at once', async () => {
  const source = new EmbeddedSource({ scene: {}, frames });
  const shown: number[][] = [];
  source.on('msg:custom', (message: any, [buffer]: Uint8Array[]) => shown.push([message.header.frame, words(buffer!, 1)[0]!]));
  const wanted = [11, 10, 0, 1, 2, 3, 4, 6, 7, 5, 7, 6, 11, 99, 3, 2, 1, 1];
  await Promise.all(wanted.map(frame => source.send({ type: 'want', frame })));
  assert.deepEqual(shown, wanted.filter(frame => frame < 12).map(frame => [frame, 100 + frame * frame]));
});
