import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linearAxis, logAxis } from '../../src/tape/scale.ts';
import { seconds } from '../../src/page/text.ts';

const labels = (axis: { ticks: { label: string }[] }) => axis.ticks.map(({ label }) => label);

test('the ends of a linear axis are round and enclose the values', () => {
  const axis = linearAxis([0, 768]);
  assert.deepEqual(labels(axis), ['0', '500', '1000']);
  assert.equal(axis.place(500), 0.5);
});

test('one value alone has an axis', () => {
  for (const value of [0, 5, -3, 1e-9]) {
    const axis = linearAxis([value]);
    assert.ok(axis.ticks.length >= 2);
    assert.ok(axis.place(value) >= 0 && axis.place(value) <= 1, `${value} at ${axis.place(value)}`);
  }
});

test('a logarithmic axis goes from power to power', () => {
  const axis = logAxis([0.02, 3, 1e6]);
  assert.deepEqual(labels(axis), ['0.01', '1', '100', '10⁴', '10⁶']);
  assert.equal(axis.place(100), 0.5);
  assert.equal(logAxis([1]).place(1), 0);
  assert.deepEqual(labels(logAxis([1e-5, 1e-4], seconds)), ['10 µs', '100 µs']);
});

test('zero stands at the foot of a logarithmic axis', () => {
  assert.equal(logAxis([0, 1, 10]).place(0), 0);
  assert.deepEqual(labels(logAxis([0, 0])), labels(linearAxis([0])));
});

test('nothing at all has an axis', () => {
  assert.ok(linearAxis([]).ticks.every(({ at }) => Number.isFinite(at)));
  assert.ok(logAxis([]).ticks.every(({ at }) => Number.isFinite(at)));
});
