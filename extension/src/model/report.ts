/** The report: the data that `dsim/notebook` puts into an output, and its validation. */
import { count, finite, flag, line, listOf, oneOf, optional, orNull, real, record, text } from './shape.ts';
import type { Of, Real } from './shape.ts';

export const REPORT_MIME = 'application/vnd.dsim.report+json';

/** Lines count from 1 in the cell, columns from 0 in code points, and ends are exclusive. */
const span = { line, column: count, end_line: line, end_column: count };

/** A cell or a file that places and listings refer to. */
const origin = record({ name: text, here: flag, lines: listOf(record({ line, text })) });

/** A place with the text of its first line and its annotation; without an origin there is no place. */
const place = { ...span, origin: orNull(count), text, label: text };
const related = record(place);
const diagnostic = record({
  ...place,
  level: oneOf('error', 'warning', 'note'),
  code: text,
  message: text,
  help: orNull(text),
  related: listOf(related)
});

/** What a level and a code mean: paragraphs, and blocks of code or output. */
const explanation = record({
  level: oneOf('error', 'warning', 'note'),
  code: text,
  parts: listOf(record({ block: flag, text })),
  /** Of the same on a site. */
  address: optional(text)
});

const heat = record({
  loss: text,
  low: real,
  high: real,
  lines: listOf(record({ line, adjoint: real, level: finite }))
});

const probe = record({
  kernel: text,
  indices: listOf(record({ name: text, value: finite, low: finite, high: finite })),
  trip: orNull(record({ value: finite, count })),
  values: listOf(record({ line, name: text, brief: text, text }))
});

const listing = record({
  name: oneOf('adjoint', 'ir', 'python', 'llvm', 'ptx'),
  kernel: text,
  language: text,
  text,
  lines: listOf(orNull(line)),
  origins: listOf(orNull(count))
});

const call = record({
  kernel: text,
  line: orNull(line),
  end_line: orNull(line),
  cell: flag,
  reads: listOf(text),
  stores: listOf(text),
  accumulates: listOf(text),
  overwrites: listOf(text),
  /** Of all repeats together. */
  saved_bytes: count,
  /** The least and the greatest of all repeats. */
  gradient_norm: optional(listOf(real)),
  gradient_norm_before: optional(listOf(real)),
  /** The number of calls in each repeat of its group. */
  count: optional(count),
  /** The enclosing repeats inside its group, outermost first, and the number of them that begin with it. */
  repeats: optional(listOf(count)),
  begins: optional(count)
});

const tape = record({
  loss: orNull(text),
  calls: count,
  saved_bytes: count,
  groups: listOf(record({ first: count, count, calls: listOf(call) })),
  /** The number of folded calls omitted from the groups, because there are too many. */
  more: optional(count),
  fields: listOf(
    record({
      name: text,
      dtype: text,
      shape: listOf(count),
      entry_shape: optional(listOf(count)),
      needs_grad: flag,
      bytes: count
    })
  ),
  /** Fields and folded calls, both in order, and the accesses of each call to each field. */
  graph: record({
    nodes: listOf(record({ id: count, kind: oneOf('field', 'call'), name: text })),
    edges: listOf(record({ from: count, to: count, kind: oneOf('reads', 'stores', 'accumulates') }))
  }),
  series: record({ step: listOf(count), gradient_norm: listOf(real), saved_bytes: listOf(real) }),
  nonfinite: orNull(record({ call: count, kernel: text, field: text, line: orNull(line) }))
});

const report = record({
  version: oneOf(2),
  /** `function`: of an existing kernel, whose text is that of another cell or a file. */
  kind: oneOf('kernel', 'tape', 'check', 'function'),
  source: orNull(text),
  origins: listOf(origin),
  kernel: orNull(text),
  status: oneOf('ok', 'failed'),
  /** The dependencies that have changed since. */
  stale: optional(text),
  /** Beside it: the run with the present numbers failed, and the next change is tried again. */
  retried: optional(oneOf(true)),
  open: text,
  summary: record({ text, rows: listOf(record({ kernel: text, label: text, value: text })) }),
  heat: orNull(heat),
  probe: orNull(probe),
  diagnostics: listOf(diagnostic),
  /** Of all levels and codes of the diagnostics. */
  explanations: optional(listOf(explanation)),
  listings: listOf(listing),
  tape: orNull(tape)
});

export type { Real };
export type Origin = Of<typeof origin>;
export type Place = Of<typeof related>;
export type Diagnostic = Of<typeof diagnostic>;
export type Explanation = Of<typeof explanation>;
export type Heat = Of<typeof heat>;
export type Probe = Of<typeof probe>;
export type Listing = Of<typeof listing>;
export type Call = Of<typeof call>;
export type Tape = Of<typeof tape>;
export type Report = Of<typeof report>;

/** A cache of validated reports: an output's data is replaced, never changed. */
const known = new WeakMap<object, Report | null>();

/**
 * The report in an output's data, or null when there is none that this version can draw.
 *
 * A notebook can come from anywhere, and from any version of dsim: what is not as expected is not drawn.
 */
export function readReport(data: Readonly<Record<string, unknown>>): Report | null {
  const value = data[REPORT_MIME];
  if (typeof value !== 'object' || value === null) {
    return null;
  }
  let read = known.get(value);
  if (read === undefined) {
    read = report(value) ? value : null;
    known.set(value, read);
  }
  return read;
}

/** Where a report is: in its cell, in a copy of it, or in its cell but of a kernel that has ended. */
export type Whereabouts = 'own' | 'copied' | 'ended';

/** What a report says that is out of date, or that nobody keeps up to date any more. */
export function outdated(report: Pick<Report, 'stale' | 'retried'> | null, whereabouts: Whereabouts = 'own'): string {
  const changes = [
    ...(report?.stale === undefined ? [] : [report.stale]),
    ...(whereabouts === 'ended' ? ['its kernel was restarted or shut down'] : [])
  ];
  if (changes.length > 0) {
    const next = report?.retried && whereabouts === 'own' ? 'It follows the next change.' : 'Run this cell again.';
    return `Out of date: ${changes.join(', and ')}. ${next}`;
  }
  return whereabouts === 'copied' ? 'Copied from another cell. Run this one for a report of its own.' : '';
}

/** Whether a report is about the text of its cell. */
export function isOfItsCell({ kind, source }: Report): boolean {
  return kind !== 'tape' && kind !== 'function' && source !== null;
}

/** What marks an editor: the last report that is about its text. */
export function markingReport(reports: readonly (Report | null)[]): Report | null {
  return reports.findLast(each => each !== null && isOfItsCell(each)) ?? null;
}

/** Seconds; null or empty where nothing was measured. */
export interface Timings {
  compile: number | null;
  launch: number | null;
  gradient: number | null;
  lines: number | null;
  check: number | null;
  total: number | null;
  /** Of each folded call, all repeats together: forward, and its adjoint. */
  calls: Real[];
  backward: Real[];
  /** At each step of the tape's series. */
  series: Real[];
  seriesBackward: Real[];
}

/** The times of a report: all that may differ between two equal runs. */
export function timings(data: Report): Timings {
  const given = (data as { timings?: unknown }).timings;
  const times = (typeof given === 'object' && given !== null ? given : {}) as Record<string, unknown>;
  const time = (name: string) => (finite(times[name]) ? times[name] : null);
  const list = (name: string) => (reals(times[name]) ? times[name] : []);
  return {
    compile: time('compile_s'),
    launch: time('launch_s'),
    gradient: time('gradient_s'),
    lines: time('lines_s'),
    check: time('check_s'),
    total: time('total_s'),
    calls: list('calls_s'),
    backward: list('backward_s'),
    series: list('series_s'),
    seriesBackward: list('series_backward_s')
  };
}

const reals = listOf(real);

/** The plain form that every report carries beside it, for what cannot be drawn. */
export function plainText(data: Readonly<Record<string, unknown>>): string {
  const given = data['text/plain'];
  if (typeof given === 'string') {
    return given;
  }
  // A notebook file holds text as one string or as a list of lines.
  return listOf(text)(given)
    ? given.join('')
    : 'This report was made by another version of dsim. Run the cell again.';
}
