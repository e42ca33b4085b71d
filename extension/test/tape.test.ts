import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call, Tape } from '../src/report.ts';
import { callAt, lanes } from '../src/tape.ts';

function call(kernel: string, touches: Partial<Call> = {}): Call {
  const nothing = { reads: [], stores: [], accumulates: [], overwrites: [], saved_bytes: 0 };
  return { kernel, line: null, end_line: null, cell: false, ...nothing, ...touches };
}

const GROUPS = [
  { first: 0, count: 1, calls: [call('start', { stores: ['x'] })] },
  {
    first: 1,
    count: 3,
    calls: [
      call('push', { reads: ['x'], stores: ['v'] }),
      call('move', { reads: ['v'], stores: ['x'], overwrites: ['x'] })
    ]
  },
  { first: 7, count: 1, calls: [call('loss', { reads: ['x'], accumulates: ['U'] })] }
];
const TAPE: Tape = {
  loss: 'U',
  calls: 8,
  saved_bytes: 0,
  groups: GROUPS,
  fields: [],
  series: { step: [], gradient_norm: [], saved_bytes: [] },
  nonfinite: null
};

test('a call is found in what was folded', () => {
  const names = Array.from({ length: 9 }, (_, number) => callAt(TAPE, number)?.kernel);
  assert.deepEqual(names, ['start', 'push', 'move', 'push', 'move', 'push', 'move', 'loss', undefined]);
});

test('a call that repeats inside of its group is found, too', () => {
  const groups = [{ first: 0, count: 2, calls: [call('a', { count: 3 }), call('b')] }];
  const names = Array.from({ length: 9 }, (_, number) => callAt({ ...TAPE, groups }, number)?.kernel);
  assert.deepEqual(names, ['a', 'a', 'a', 'b', 'a', 'a', 'a', 'b', undefined]);
});

test('a lane for each field in the order of its first use, a column for each folded call', () => {
  const graph = lanes(TAPE, 10);
  assert.deepEqual(graph.fields, ['x', 'v', 'U']);
  assert.deepEqual(
    graph.columns.map(({ call, group }) => [call.kernel, group]),
    [
      ['start', 0],
      ['push', 1],
      ['move', 1],
      ['loss', 2]
    ]
  );
  assert.deepEqual(graph.columns[2]?.touches, [
    { lane: 1, touch: 'reads' },
    { lane: 0, touch: 'overwrites' }
  ]);
  assert.equal(graph.left, 0);
});

test('columns that are too many are counted', () => {
  assert.equal(lanes(TAPE, 1).left, 3);
});
