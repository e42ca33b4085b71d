/** The tab with the tape: what was recorded, in order and folded; the fields; the curves against the step. */
import { html, link, table } from './dom.ts';
import { laneView } from './laneView.ts';
import { numberLabel, plots } from './plots.ts';
import type { Curve } from './plots.ts';
import { timings } from './report.ts';
import type { Call, Report, Tape } from './report.ts';
import { callAt } from './tape.ts';
import { bytes, counted, seconds } from './text.ts';

/** So many groups are shown at once; a button shows more. */
const GROUPS_AT_ONCE = 50;

/** Shows the lines of a call in the cell that they are in; says whether there is one. */
export type RevealCall = (call: Call) => boolean;

export function tapeView(tape: Tape, report: Report, reveal: RevealCall): HTMLElement {
  const status = html('p', { class: 'dsim-hint', role: 'status' });
  const go = (call: Call) => {
    status.textContent = reveal(call) ? '' : `There is no cell in this notebook with the lines of ${call.kernel}.`;
  };
  return html(
    'div',
    { class: 'dsim-tape' },
    html('p', { class: 'dsim-totals' }, totals(tape)),
    nonfinite(tape, go),
    status,
    curves(tape, timings(report).calls, go),
    laneView(tape, go),
    callsTable(tape, go),
    fieldsTable(tape)
  );
}

function totals(tape: Tape): string {
  const loss = tape.loss === null ? [] : [`loss ${tape.loss}`];
  return [...loss, counted(tape.calls, 'call'), `${bytes(tape.saved_bytes)} saved`].join(' · ');
}

function nonfinite(tape: Tape, go: (call: Call) => void): HTMLElement | null {
  if (tape.nonfinite === null) {
    return null;
  }
  const { call: number, kernel, field } = tape.nonfinite;
  const call = callAt(tape, number);
  const name = `call ${number} (${kernel})`;
  return html(
    'p',
    { class: 'dsim-message dsim-level-error' },
    html('span', { class: 'dsim-sign', 'aria-hidden': 'true' }, '✖'),
    html(
      'span',
      {},
      'The first value that is not finite was born in ',
      call === null || call.line === null ? name : link(name, `Show the lines of ${kernel}`, () => go(call)),
      `, in ${field}.`
    )
  );
}

function curves(tape: Tape, times: number[], go: (call: Call) => void): HTMLElement | null {
  const { step, gradient_norm, saved_bytes } = tape.series;
  const drawn: Curve[] = [
    { name: 'gradient norm', values: gradient_norm, log: true, label: numberLabel },
    { name: 'saved', values: saved_bytes, log: false, label: bytes },
    { name: 'time', values: times, log: false, label: seconds }
  ].filter(({ values }) => values.length === step.length);
  if (step.length < 2 || drawn.length === 0) {
    return null;
  }
  const tell = (at: number) => callAt(tape, at)?.kernel ?? '';
  return plots(step, drawn, tell, at => {
    const call = callAt(tape, at);
    if (call !== null) {
      go(call);
    }
  });
}

const HEADS = ['calls', 'times', 'kernel', 'reads', 'stores', 'adds to', 'overwrites', 'saved'];

function callsTable(tape: Tape, go: (call: Call) => void): HTMLElement {
  const element = html(
    'table',
    { class: 'dsim-table dsim-calls' },
    html('caption', { class: 'dsim-for-readers' }, 'Calls on the tape, in order'),
    html('thead', {}, html('tr', {}, ...HEADS.map(head => html('th', { scope: 'col' }, head))))
  );
  const more = html('button', { type: 'button', class: 'dsim-more' });
  let shown = 0;
  const show = () => {
    const next = tape.groups.slice(shown, shown + GROUPS_AT_ONCE);
    element.append(...next.map(group => groupRows(group, go)));
    shown += next.length;
    const left = tape.groups.length - shown;
    more.hidden = left === 0;
    more.textContent = `Show ${Math.min(left, GROUPS_AT_ONCE)} more of ${left}`;
  };
  more.addEventListener('click', show);
  show();
  return html('div', { class: 'dsim-scroll' }, element, more);
}

function groupRows({ first, count, calls }: Tape['groups'][number], go: (call: Call) => void): HTMLElement {
  const last = first + count * calls.length - 1;
  const rows = calls.map((call, index) => {
    const heads = [
      html('th', { scope: 'rowgroup', class: 'dsim-number' }, [...new Set([first, last])].map(call => call.toLocaleString('en')).join(' – ')),
      html('td', { class: 'dsim-count' }, count === 1 ? '' : `× ${count.toLocaleString('en')}`)
    ];
    for (const head of heads) {
      head.rowSpan = calls.length;
    }
    return html(
      'tr',
      {},
      ...(index === 0 ? heads : []),
      html('td', {}, call.line === null ? call.kernel : link(call.kernel, `Show the lines of ${call.kernel}`, () => go(call))),
      ...[call.reads, call.stores, call.accumulates, call.overwrites].map(names => html('td', {}, names.join(', '))),
      html('td', { class: 'dsim-number' }, call.saved_bytes === 0 ? '' : bytes(call.saved_bytes * count))
    );
  });
  return html('tbody', { class: count === 1 ? '' : 'dsim-repeated' }, ...rows);
}

function fieldsTable({ fields }: Tape): HTMLElement | null {
  if (fields.length === 0) {
    return null;
  }
  const rows = fields.map(({ name, dtype, shape, needs_grad, bytes: size }) => [
    name,
    `${dtype}[${shape.join(', ')}]`,
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
