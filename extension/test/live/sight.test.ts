import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { load } from './pages.ts';

const { Sight } = await load('sight.js');

function begun() {
  mock.timers.enable({ apis: ['setTimeout'] });
  const said: [boolean, number][] = [];
  return { said, sight: new Sight(({ visible, number }: any) => said.push([visible, number])) };
}

test('a page repeats that it shows a view until the program is heard', () => {
  const { said, sight } = begun();
  sight.tell(true);
  sight.tell(true);
  assert.deepEqual(said, [[true, 1]]);
  mock.timers.tick(200);
  assert.deepEqual(said, [[true, 1], [true, 1]]);
  sight.heard();
  mock.timers.tick(60_000);
  assert.equal(said.length, 2);
  mock.timers.reset();
});

test('a program that never answers hears four times of it', () => {
  const { said, sight } = begun();
  sight.tell(true);
  for (let second = 0; second < 60; second++) {
    mock.timers.tick(1000);
  }
  assert.deepEqual(said, Array(4).fill([true, 1]));
  mock.timers.reset();
});

test('what is out of sight is said once, and ends the repeating', () => {
  const { said, sight } = begun();
  sight.tell(true);
  sight.tell(false);
  mock.timers.tick(60_000);
  sight.tell(true);
  sight.heard();
  assert.deepEqual(said, [[true, 1], [false, 2], [true, 3]]);
  mock.timers.reset();
});
