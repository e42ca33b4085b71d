import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.ts';

const { RoundTrip } = await load('playing/round_trip.js');
const { nearestTo, thinned } = await load('playing/norm_chart.js');

test('it begins at the first step, goes to the last, and comes back', () => {
  const player = new RoundTrip();
  player.grow(31);
  assert.equal(player.at, 0);
  assert.equal(player.statesOnly, false);
  player.toggle();
  assert.equal(player.statesOnly, true);
  player.tick(0.5);
  assert.deepEqual([player.at, player.back], [15, false]);
  player.tick(2);
  assert.deepEqual([player.at, player.back, player.statesOnly], [30, true, false]);
  player.tick(0.5);
  assert.equal(player.at, 15);
  player.toggle();
  player.toggle();
  assert.equal(player.back, true);
  player.tick(2);
  assert.deepEqual([player.at, player.playing], [0, false]);
});

test('it goes round where it repeats, and back at once from the last step', () => {
  const player = new RoundTrip();
  player.grow(4);
  player.seek(3);
  player.toggle();
  assert.equal(player.back, true);
  player.loop = true;
  player.tick(1);
  assert.deepEqual([player.at, player.playing, player.back], [0, true, false]);
});

test('a recording of one step is not played', () => {
  const player = new RoundTrip();
  player.grow(1);
  player.toggle();
  assert.equal(player.playing, false);
});

test('the nearest step is found', () => {
  const steps = [0, 10, 20, 40];
  assert.deepEqual([-5, 4, 6, 29, 31, 99].map(wanted => nearestTo(steps, wanted)), [0, 0, 1, 2, 3, 3]);
  assert.equal(nearestTo([7], 3), 0);
});

test('long curves keep their peaks, and what is not finite', () => {
  const norms = Array.from({ length: 100_000 }, (_, index) => 1 + (index % 7) / 10);
  norms[54_321] = 1e9;
  norms[12_345] = 1e-9;
  norms[77_777] = null;
  const kept = thinned(norms);
  assert.ok(kept.length < 2500);
  for (const index of [0, 54_321, 12_345, 77_777, 99_999]) {
    assert.ok(kept.includes(index), String(index));
  }
  assert.deepEqual(thinned([1, 2, 3]), [0, 1, 2]);
});
