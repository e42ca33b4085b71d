/** The calls of a tape as a table, in order, with repeated groups marked. */
import type { Call, Real, Tape, Timings } from '../model/report.ts';
import { html, link } from '../page/dom.ts';
import { brief, bytes, counted, seconds, times } from '../page/text.ts';
import { period, repeats } from './folding.ts';
import type { Repeat } from './folding.ts';

/** The number of groups shown at once; a button shows more. */
const GROUPS_AT_ONCE = 50;

/** Shows the lines of a call. */
export type Go = (call: Call) => void;

/** A column of the table of calls, and its text for the folded call with this number. */
interface Column {
  head: string;
  numeric: boolean;
  cell: (call: Call, number: number) => string;
}

/** The columns that are not empty. */
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

export function callsTable(tape: Tape, measured: Timings, go: Go): HTMLElement {
  const shownColumns = columns(tape, measured);
  const repeated = repeats(tape);
  const levels = Math.max(0, ...repeated.map(({ level }) => level + 1));
  const timesHead = html('th', { scope: 'col' }, 'times');
  timesHead.colSpan = levels;
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
        html('th', { scope: 'col' }, 'calls'),
        levels === 0 ? null : timesHead,
        html('th', { scope: 'col' }, 'kernel'),
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
      element.append(groupRows(group, calls, { columns: shownColumns, repeated, levels, go }));
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

/** The data that all rows of the table share. */
interface Shared {
  columns: Column[];
  repeated: Repeat[];
  levels: number;
  go: Go;
}

function groupRows(group: Tape['groups'][number], firstCall: number, shared: Shared): HTMLElement {
  const { first, count, calls } = group;
  let next = first;
  const rows = calls.map((call, index) => {
    // A repeated group has one row header for all of its rows; other rows have one each.
    const length = count === 1 ? (call.count ?? 1) : count * period(group);
    const ends = [...new Set([next, next + length - 1])];
    next += length;
    const head = html(
      'th',
      { scope: 'row', class: 'dsim-number' },
      ends.map(end => end.toLocaleString('en')).join(' – ')
    );
    head.rowSpan = count === 1 ? 1 : calls.length;
    const name =
      call.line === null
        ? call.kernel
        : link(call.kernel, `Show the lines of ${call.kernel}`, () => shared.go(call));
    return html(
      'tr',
      {},
      index === 0 || count === 1 ? head : null,
      ...repeatCells(firstCall + index, shared),
      html('td', {}, name),
      ...shared.columns.map(({ numeric, cell }) =>
        html('td', numeric ? { class: 'dsim-number' } : {}, cell(call, firstCall + index))
      )
    );
  });
  return html('tbody', { class: count === 1 ? '' : 'dsim-repeated' }, ...rows);
}

/** The cells with repeat counts in a row: one for each repeat that begins there, and one for the empty rest. */
function repeatCells(number: number, { repeated, levels }: Shared): HTMLElement[] {
  const around = repeated.filter(({ first, last }) => first <= number && number <= last);
  const cells = around
    .filter(({ first }) => first === number)
    .map(({ first, last, count }) => {
      const cell = html('td', { class: 'dsim-count' }, times(count).trim());
      cell.rowSpan = last - first + 1;
      return cell;
    });
  if (around.length < levels) {
    const rest = html('td');
    rest.colSpan = levels - around.length;
    cells.push(rest);
  }
  return cells;
}
