import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markingReport, outdated, plainText, readReport, REPORT_MIME, timings } from '../../src/model/report.ts';

const REPORT = {
  version: 2,
  origins: [{ name: 'this cell', here: true, lines: [] }],
  kind: 'kernel',
  source: '%%kernel step',
  kernel: 'step',
  status: 'ok',
  open: 'summary',
  summary: { text: 'step', rows: [] },
  heat: { loss: 'U', low: 1, high: 'inf', lines: [{ line: 1, adjoint: 'nan', level: 0.5 }] },
  probe: null,
  diagnostics: [],
  listings: [],
  tape: null,
  timings: { compile_s: 0.5, launch_s: null, calls_s: [1, 2] }
};
const read = (changes: object) => readReport({ [REPORT_MIME]: { ...REPORT, ...changes } });

test('a report is read, and read once', () => {
  const data = { [REPORT_MIME]: structuredClone(REPORT) };
  assert.equal(readReport(data)?.kernel, 'step');
  assert.equal(readReport(data), readReport(data));
});

const NOTE = {
  level: 'note',
  code: 'x',
  message: 'x',
  help: null,
  origin: null,
  line: 1,
  column: 0,
  end_line: 1,
  end_column: 0,
  text: '',
  label: '',
  related: []
};

test('a diagnostic without a place is read', () => assert.notEqual(read({ diagnostics: [NOTE] }), null));

const WRONG: Record<string, object> = {
  'of another version': { version: 3 },
  'of another kind': { kind: 'sermon' },
  'with a list in the place of a text': { source: [] },
  'with a line 0': { heat: { ...REPORT.heat, lines: [{ line: 0, adjoint: 1, level: 1 }] } },
  'with half a line': { heat: { ...REPORT.heat, lines: [{ line: 1.5, adjoint: 1, level: 1 }] } },
  'with a level that is not finite': {
    heat: { ...REPORT.heat, lines: [{ line: 1, adjoint: 1, level: 'inf' }] }
  },
  'with a diagnostic that lacks its place': {
    diagnostics: [{ level: 'error', code: 'x', message: 'x', help: null, related: [] }]
  },
  'with a listing of no known name': {
    listings: [{ name: '" onclick="', kernel: 'step', language: 'text', text: '', lines: [], origins: [] }]
  },
  'with an origin that is no number': { diagnostics: [{ ...NOTE, origin: 'here' }] },
  'without diagnostics': { diagnostics: undefined }
};
for (const [what, changes] of Object.entries(WRONG)) {
  test(`a report ${what} is not drawn`, () => assert.equal(read(changes), null));
}

test('what is no report is not drawn', () => {
  for (const value of [null, undefined, 1, 'text', []]) {
    assert.equal(readReport({ [REPORT_MIME]: value }), null);
  }
  assert.equal(readReport({}), null);
});

test('the last report of the cell marks; tapes and reports of other texts do not', () => {
  const [first, second] = [read({}), read({})];
  const tape = read({ kind: 'tape' });
  const elsewhere = read({ source: null });
  assert.equal(markingReport([first, second, null, tape, elsewhere]), second);
  assert.equal(markingReport([tape, read({ kind: 'function', first_line: 7 })]), null);
});

test('times that are missing are not made up', () => {
  const report = read({});
  const nothing = {
    compile: null,
    launch: null,
    gradient: null,
    lines: null,
    check: null,
    total: null,
    calls: [],
    backward: [],
    series: [],
    seriesBackward: []
  };
  assert.deepEqual(report && timings(report), { ...nothing, compile: 0.5, calls: [1, 2] });
  const without = read({ timings: { calls_s: ['long'], launch_s: 'inf' } });
  assert.deepEqual(without && timings(without), nothing);
});

test('the plain form is one text or a list of lines', () => {
  assert.equal(plainText({ 'text/plain': 'a' }), 'a');
  assert.equal(plainText({ 'text/plain': ['a\n', 'b'] }), 'a\nb');
  assert.match(plainText({ 'text/plain': 1 }), /another version of dsim/);
});

test('what is out of date is said with all its reasons, and comes before being a copy', () => {
  assert.equal(outdated({}, 'own'), '');
  assert.equal(outdated({ stale: '`a` was redefined' }, 'copied'), 'Out of date: `a` was redefined. Run this cell again.');
  assert.equal(
    outdated({ stale: '`a` was redefined' }, 'ended'),
    'Out of date: `a` was redefined, and its kernel was restarted or shut down. Run this cell again.'
  );
  const failed = { stale: 'the run fails', retried: true } as const;
  assert.equal(outdated(failed), 'Out of date: the run fails. It follows the next change.');
  assert.equal(outdated(failed, 'copied'), 'Out of date: the run fails. Run this cell again.');
  assert.equal(outdated({}, 'copied'), 'Copied from another cell. Run this one for a report of its own.');
});
