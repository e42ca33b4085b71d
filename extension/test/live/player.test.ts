import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from './pages.ts';

const { Player } = await load('playing/player.js');
const { Latest } = await load('latest.js');

test('it follows a recording until somebody seeks, and again from its end', () => {
  const player = new Player();
  player.grow(5);
  assert.equal(player.at, 4);
  player.seek(2);
  player.grow(9);
  assert.equal(player.at, 2);
  player.press('End');
  player.grow(10);
  assert.equal(player.at, 9);
});

test('it plays 30 frames a second times the speed, to the end, or round and round', () => {
  const player = new Player();
  player.grow(10);
  player.press('Home');
  assert.equal(player.tick(1), false);
  player.toggle();
  assert.equal(player.tick(0.02), false);
  assert.equal(player.tick(0.02), true);
  assert.equal(player.at, 1);
  player.speed = 4;
  player.tick(0.05);
  assert.equal(player.at, 7);
  player.tick(0.05);
  assert.deepEqual([player.at, player.playing, player.following], [9, false, true]);
  player.toggle();
  assert.equal(player.at, 0);
  player.loop = true;
  player.tick(0.1);
  assert.deepEqual([player.at, player.playing], [2, true]);
});

test('keys stay within the recording; others are not taken', () => {
  const player = new Player();
  assert.equal(player.press('Home'), false);
  player.grow(3);
  player.press('ArrowRight');
  assert.equal(player.at, 2);
  player.press('PageDown');
  player.press('ArrowLeft');
  assert.equal(player.at, 0);
  assert.equal(player.press('x'), false);
  player.press(' ');
  assert.equal(player.playing, true);
});

test('of a burst the first goes at once, and the newest after the answer', () => {
  const sent: number[] = [];
  let now = 0;
  const latest = new Latest((each: number) => sent.push(each), () => now);
  [1, 2, 3].forEach(each => latest.offer(each));
  assert.deepEqual(sent, [1]);
  latest.answered();
  assert.deepEqual(sent, [1, 3]);
  latest.answered();
  latest.offer(4);
  latest.offer(5);
  latest.go(6); // the end of a drag
  latest.answered();
  assert.deepEqual(sent, [1, 3, 4, 6]);
  latest.offer(7);
  now = 1001;
  latest.offer(8); // no answer came
  assert.deepEqual(sent, [1, 3, 4, 6, 7, 8]);
});
