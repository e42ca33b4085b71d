import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fits, fitted } from '../../src/editor/fitting.ts';

const MATRIX = 'C = ((239, 414, 602), (160, 671, 407))   ∂U/∂C = ((1, 0, 0), (0, 1, 19.3))';

test('what fits is shown as it is', () => {
  assert.equal(fitted('r = 1   ∂U/∂r = 3.5', 80), 'r = 1   ∂U/∂r = 3.5');
  assert.equal(fitted(MATRIX, MATRIX.length), MATRIX);
});

test('a value and its gradient give way to one another', () => {
  assert.equal(fitted(MATRIX, 60), 'C = ((239, 414, 602), (…   ∂U/∂C = ((1, 0, 0), (0, 1, …');
});

test('all of it is shown where there is room, and nowhere more than anyone reads', () => {
  assert.ok(fits(MATRIX, MATRIX.length));
  assert.ok(!fits(MATRIX, MATRIX.length - 1));
  assert.ok(!fits('1'.repeat(121), 500));
});

test('a name may be cut anywhere', () => {
  const text = 'grid_velocity[base+offset] += (1, 2)   ∂U/∂… = (3, 4)';
  assert.equal(fitted(text, 40), 'grid_velocity[base+off…   ∂U/∂… = (3, 4)');
});

test('what is short stays whole beside what is long', () => {
  const long = `d = (${Array.from({ length: 60 }, (_, index) => index).join(', ')})`;
  assert.equal(fitted(`a = -19.3  ·  ${long}`, 40), 'a = -19.3  ·  d = (0, 1, 2, 3, 4, 5, …');
});

test('of one number with a short name there is nothing to cut', () => {
  const text = 'p = 19.3   ∂U/∂p = 407  ·  q = 407   ∂U/∂q = 19.3';
  assert.equal(fitted(text, 32), text);
});

test('no number is cut in two, wherever the cut falls', () => {
  const whole = new Set(MATRIX.match(/-?[\d.]+/g));
  for (let room = 0; room <= MATRIX.length; room++) {
    const shown = fitted(MATRIX, room);
    assert.ok(Array.from(shown).length <= Math.max(room, 32), shown);
    for (const number of shown.match(/-?[\d.]+/g) ?? []) {
      assert.ok(whole.has(number), `${number} in ${shown}`);
    }
  }
});

test('an endless line is cut in the widest window, and little room is as good as none', () => {
  const long = `d = (${'12345678, '.repeat(60)}1)`;
  assert.ok(fitted(long, Infinity).length <= 120);
  assert.equal(fitted('r = (0.12, -0.4)   ∂U/∂r = (3.1, -10.4)', -50), 'r = (0.12, …   ∂U/∂r = (…');
  assert.equal(fitted(`d = ${'1'.repeat(200)}`, 80), 'd = …');
});
