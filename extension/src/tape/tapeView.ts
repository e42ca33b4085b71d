/** The tab of the tape: the recorded calls, in order and folded; the fields; the curves over the steps. */
import { timings } from '../model/report.ts';
import type { Call, Real, Report, Tape, Timings } from '../model/report.ts';
import { html, link, table } from '../page/dom.ts';
import { brief, bytes, counted, seconds, visible } from '../page/text.ts';
import { callsTable } from './callsTable.ts';
import type { Go } from './callsTable.ts';
import type { Curve } from './curves.ts';
import { callAt } from './folding.ts';
import { laneView } from './laneView.ts';
import { plots } from './plots.ts';

/** Shows the lines of a call in their cell; returns whether there is one. */
export type RevealCall = (call: Call) => Promise<boolean>;

export function tapeView(tape: Tape, report: Report, reveal: RevealCall): HTMLElement {
  const status = html('p', { class: 'dsim-status', role: 'status' });
  const show = async (call: Call) => {
    const missing = `There is no cell in this notebook with the lines of ${call.kernel}.`;
    status.textContent = (await reveal(call)) ? '' : visible(missing);
  };
  const go = (call: Call) => void show(call);
  const times = timings(report);
  return html(
    'div',
    { class: 'dsim-tape-tab' },
    html('p', { class: 'dsim-totals' }, totals(tape)),
    nonfinite(tape, go),
    status,
    laneView(tape, go),
    curves(tape, times, go),
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
