/** The tab with the tape: what was recorded, in order and folded; the fields; the curves against the step. */
import { html, link, table } from './dom.ts';
import { laneView } from './laneView.ts';
import { plots } from './plots.ts';
import type { Curve } from './curves.ts';
import { timings } from './report.ts';
import type { Call, Real, Report, Tape, Timings } from './report.ts';
import { callAt, period } from './tape.ts';
import { brief, bytes, counted, seconds, times, visible } from './text.ts';

/** So many groups are shown at once; a button shows more. */
const GROUPS_AT_ONCE = 50;

/** Shows the lines of a call in the cell that they are in; says whether there is one. */
export type RevealCall = (call: Call) => boolean;

type Go = (call: Call) => void;

export function tapeView(tape: Tape, report: Report, reveal: RevealCall): HTMLElement {
  const status = html('p', { class: 'dsim-hint', role: 'status' });
  const go = (call: Call) => {
    const missing = `There is no cell in this notebook with the lines of ${call.kernel}.`;
    status.textContent = reveal(call) ? '' : visible(missing);
  };
  const times = timings(report);
  return html(
    'div',
    { class: 'dsim-tape-tab' },
    html('p', { class: 'dsim-totals' }, totals(tape)),
    nonfinite(tape, go),
    status,
    curves(tape, times, go),
    laneView(tape, go),
    callsTable(tape, times, go),
    fieldsTable(tape)
  );
}

function totals(tape: Tape): string {
  const loss = tape.loss === null ? [] : [`loss ${tape.loss}`];
  const saved = tape.saved_bytes === 0 ? 'nothing' : bytes(tape.saved_bytes);
  return [...loss, counted(tape.calls, 'call'), `${saved} saved`].join(' · ');
}

function nonfinite(tape: Tape, go: Go): HTMLElement | null {
  if (tape.nonfinite === null) {
    return null;
  }
  const { call: number, kernel, field } = tape.nonfinite;
  const call = callAt(tape, number);
  const name = `call ${number.toLocaleString('en')} (${kernel})`;
  return html(
    'p',
    { class: 'dsim-message dsim-level-error' },
    html('span', { class: 'dsim-sign', 'aria-hidden': 'true' }, '✖'),
    html(
      'span',
      {},
      'The first value that is not finite was born in ',
      call === null || call.line === null ? name : link(name, `Show the lines of ${kernel}`, () => go(call)),
      field === '' ? '.' : `, in ${field}.`
    )
  );
}

function curves(tape: Tape, { series, seriesBackward }: Timings, go: Go): HTMLElement | null {
  const { step: steps, gradient_norm, saved_bytes } = tape.series;
  const curve = (name: string, values: Real[], log: boolean, label: (value: number) => string): Curve[] =>
    values.length === steps.length && values.some(value => typeof value === 'number' && value !== 0)
      ? [{ name, values, log, label, ticks: label === brief ? undefined : label }]
      : [];
  const drawn = [
    ...curve('gradient norm', gradient_norm, true, brief),
    ...curve('saved', saved_bytes, false, bytes),
    ...curve('time', series, true, seconds),
    ...curve('time backward', seriesBackward, true, seconds)
  ];
  if (steps.length < 2 || drawn.length === 0) {
    return null;
  }
  const kernels = steps.map(step => callAt(tape, step)?.kernel ?? '');
  const reveal = (step: number) => {
    const call = callAt(tape, step);
    if (call !== null) {
      go(call);
    }
  };
  return plots({ steps, kernels, go: reveal }, drawn);
}

/** A column of the table of calls, and what it says of the folded call with this number. */
interface Column {
  head: string;
  numeric: boolean;
  cell: (call: Call, number: number) => string;
}

/** The columns that have something to say. */
function columns(tape: Tape, { calls, backward }: Timings): Column[] {
  const all = tape.groups.flatMap(group => group.calls);
  const words = (head: string, names: (call: Call) => string[]): Column => ({
    head,
    numeric: false,
    cell: call => names(call).join(', ')
  });
  const number = (
    head: string,
    value: (call: Call, number: number) => Real | undefined,
    label: (value: number) => string
  ) => ({
    head,
    numeric: true,
    cell: (call: Call, number: number) => {
      const found = value(call, number);
      return typeof found === 'number' && found !== 0 ? label(found) : '';
    }
  });
  const norms = (head: string, ends: (call: Call) => Real[] | undefined): Column => ({
    head,
    numeric: true,
    cell: call => {
      const shown = (ends(call) ?? []).map(end => (typeof end === 'number' ? brief(end) : end));
      return [...new Set(shown)].join(' … ');
    }
  });
  const listed = [
    words('reads', call => call.reads),
    words('stores', call => call.stores),
    words('adds to', call => call.accumulates),
    words('overwrites', call => call.overwrites),
    number('saved', call => call.saved_bytes, bytes),
    norms('gradient before', call => call.gradient_norm_before),
    norms('gradient after', call => call.gradient_norm),
    ...(calls.length === all.length ? [number('time', (_, index) => calls[index], seconds)] : []),
    ...(backward.length === all.length ? [number('backward', (_, index) => backward[index], seconds)] : [])
  ];
  return listed.filter(({ cell }) => all.some((call, index) => cell(call, index) !== ''));
}

function callsTable(tape: Tape, measured: Timings, go: Go): HTMLElement {
  const shownColumns = columns(tape, measured);
  const heads = ['calls', 'times', 'kernel'].map(head => html('th', { scope: 'col' }, head));
  const element = html(
    'table',
    { class: 'dsim-table dsim-calls' },
    html('caption', { class: 'dsim-for-readers' }, 'Calls on the tape, in order'),
    html(
      'thead',
      {},
      html(
        'tr',
        {},
        ...heads,
        ...shownColumns.map(({ head, numeric }) =>
          html('th', { scope: 'col', ...(numeric ? { class: 'dsim-number' } : {}) }, head)
        )
      )
    )
  );
  const more = html('button', { type: 'button', class: 'dsim-more' });
  let shown = 0;
  let calls = 0;
  const show = () => {
    for (const group of tape.groups.slice(shown, shown + GROUPS_AT_ONCE)) {
      element.append(groupRows(group, calls, shownColumns, go));
      shown++;
      calls += group.calls.length;
    }
    const left = tape.groups.length - shown;
    more.hidden = left === 0;
    more.textContent = `Show ${Math.min(left, GROUPS_AT_ONCE)} more of ${left}`;
  };
  more.addEventListener('click', show);
  show();
  const rest = tape.more
    ? html('p', { class: 'dsim-hint' }, `and ${counted(tape.more, 'folded call')} more`)
    : null;
  return html('div', { class: 'dsim-scroll' }, element, more, rest);
}

function groupRows(group: Tape['groups'][number], firstCall: number, columns: Column[], go: Go): HTMLElement {
  const { first, count, calls } = group;
  let next = first;
  const rows = calls.map((call, index) => {
    // What repeats has one head for all of its rows, what does not has one for each.
    const length = count === 1 ? (call.count ?? 1) : count * period(group);
    const ends = [...new Set([next, next + length - 1])];
    next += length;
    const heads = [
      html(
        'th',
        { scope: 'row', class: 'dsim-number' },
        ends.map(end => end.toLocaleString('en')).join(' – ')
      ),
      html('td', { class: 'dsim-count' }, times(count).trim())
    ];
    if (count > 1) {
      heads.forEach(head => (head.rowSpan = calls.length));
    }
    const name =
      call.line === null
        ? call.kernel
        : link(call.kernel, `Show the lines of ${call.kernel}`, () => go(call));
    return html(
      'tr',
      {},
      ...(index === 0 || count === 1 ? heads : []),
      html('td', {}, name, times(call.count ?? 1)),
      ...columns.map(({ numeric, cell }) =>
        html('td', numeric ? { class: 'dsim-number' } : {}, cell(call, firstCall + index))
      )
    );
  });
  return html('tbody', { class: count === 1 ? '' : 'dsim-repeated' }, ...rows);
}

function fieldsTable({ fields }: Tape): HTMLElement | null {
  if (fields.length === 0) {
    return null;
  }
  const rows = fields.map(({ name, dtype, shape, entry_shape, needs_grad, bytes: size }) => [
    name,
    `${dtype}[${shape.join(', ')}]${entry_shape?.length ? ` of ${entry_shape.join(' × ')}` : ''}`,
    needs_grad ? 'yes' : '',
    bytes(size)
  ]);
  return html(
    'details',
    {},
    html('summary', {}, counted(fields.length, 'field')),
    table('Fields on the tape', ['', 'type', 'gradient', 'size'], rows, [3])
  );
}
