import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call, Tape } from '../../src/model/report.ts';
import { callAt, repeats } from '../../src/tape/folding.ts';
import { lanes } from '../../src/tape/lanes.ts';

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
  graph: {
    nodes: [
      { id: 0, kind: 'field', name: 'x' },
      { id: 1, kind: 'field', name: 'v' },
      { id: 2, kind: 'field', name: 'never' },
      { id: 3, kind: 'field', name: 'U' },
      { id: 4, kind: 'call', name: 'start' },
      { id: 5, kind: 'call', name: 'push' },
      { id: 6, kind: 'call', name: 'move' },
      { id: 7, kind: 'call', name: 'loss' }
    ],
    edges: [
      { from: 4, to: 0, kind: 'stores' },
      { from: 0, to: 5, kind: 'reads' },
      { from: 5, to: 1, kind: 'stores' },
      { from: 1, to: 6, kind: 'reads' },
      { from: 6, to: 0, kind: 'stores' },
      { from: 0, to: 7, kind: 'reads' },
      { from: 7, to: 3, kind: 'accumulates' },
      { from: 99, to: 7, kind: 'reads' }
    ]
  },
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

// 2 times: 3 times (a, then b twice), then c.
const NESTED = [
  {
    first: 5,
    count: 2,
    calls: [
      call('a', { count: 3, repeats: [3], begins: 1 }),
      call('b', { count: 6, repeats: [3, 2], begins: 1 }),
      call('c')
    ]
  }
];

test('calls that repeat together inside of their group are found in their order', () => {
  const names = Array.from({ length: 20 }, (_, number) => callAt({ ...TAPE, groups: NESTED }, 5 + number)?.kernel);
  assert.equal(names.map(name => name ?? '-').join(''), 'abbabbabbcabbabbabbc');
  assert.equal(callAt({ ...TAPE, groups: NESTED }, 25), null);
  assert.equal(callAt({ ...TAPE, groups: NESTED }, 4), null);
});

test('repeats hold the calls that repeat together', () => {
  assert.deepEqual(repeats({ ...TAPE, groups: [...GROUPS, ...NESTED] }), [
    { count: 3, first: 1, last: 2, level: 0 },
    { count: 2, first: 4, last: 6, level: 0 },
    { count: 3, first: 4, last: 5, level: 1 },
    { count: 2, first: 5, last: 5, level: 2 }
  ]);
});

test('one repeat after the other is two', () => {
  const calls = [
    call('a', { count: 3, repeats: [3], begins: 1 }),
    call('b', { count: 3, repeats: [3], begins: 0 }),
    call('c', { count: 4, repeats: [4], begins: 1 })
  ];
  const found = repeats({ ...TAPE, groups: [{ first: 0, count: 2, calls }] });
  assert.deepEqual(
    found.map(({ count, first, last }) => [count, first, last]),
    [
      [2, 0, 2],
      [3, 0, 1],
      [4, 2, 2]
    ]
  );
});

test('repeats that fit together nowhere still give an answer', () => {
  const calls = [call('a', { repeats: [3, 2], begins: 0 }), call('b', { repeats: [], begins: 7 })];
  const wrong = { ...TAPE, groups: [{ first: 0, count: 1, calls }] };
  assert.equal(callAt(wrong, 6)?.kernel, 'b');
  assert.equal(repeats(wrong).length, 2);
});

test('a lane for each field that is touched, a column for each folded call', () => {
  const graph = lanes(TAPE, 10);
  assert.deepEqual(graph.fields, ['x', 'v', 'U']);
  assert.deepEqual(
    graph.columns.map(({ call }) => call.kernel),
    ['start', 'push', 'move', 'loss']
  );
  assert.deepEqual(graph.columns[2]?.touches, [
    { lane: 1, touch: 'reads' },
    { lane: 0, touch: 'overwrites' }
  ]);
  assert.equal(graph.left, 0);
});

test('two fields of one name have a lane each', () => {
  const nodes = TAPE.graph.nodes.map(node => (node.id === 1 ? { ...node, name: 'x' } : node));
  assert.deepEqual(lanes({ ...TAPE, graph: { ...TAPE.graph, nodes } }, 10).fields, ['x', 'x', 'U']);
});

test('columns that are too many are counted', () => {
  assert.equal(lanes(TAPE, 1).left, 3);
});
