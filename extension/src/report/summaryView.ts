/** The first tab: the kernel's summary, and the content of the editor's marks, as tables. */
import { timings } from '../model/report.ts';
import type { Heat, Probe, Real, Report } from '../model/report.ts';
import { html, link, table } from '../page/dom.ts';
import { brief, seconds } from '../page/text.ts';

type Go = (line: number) => void;

export function summaryView(report: Report, go: Go): HTMLElement {
  return html(
    'div',
    { class: 'dsim-summary' },
    ...kernelTables(report),
    linesTable(report.heat, report.probe, go)
  );
}

/** The rows of each kernel, under its name where there are several; the times belong to the one that ran, the last. */
function kernelTables(report: Report): HTMLElement[] {
  const { rows } = report.summary;
  const kernels = Array.from(new Set(rows.map(({ kernel }) => kernel)));
  const several = new Set([...kernels, ...report.listings.map(({ kernel }) => kernel)]).size > 1;
  return kernels.flatMap((kernel, index) => {
    const own = rows.filter(row => row.kernel === kernel).map(({ label, value }) => [label, value]);
    const times = index === kernels.length - 1 ? timeRows(report) : [];
    const made = table(several ? `Summary of ${kernel}` : 'Summary', ['', ''], [...own, ...times]);
    return several ? [html('p', { class: 'dsim-kernel' }, kernel), made] : [made];
  });
}

/** The time of the cell, in parts that add up to the whole. */
function timeRows(report: Report): string[][] {
  const { compile, launch, gradient, lines, check, total } = timings(report);
  const parts: [string, number | null][] = [
    ['compiled in', compile],
    ['launch', launch],
    ['gradient', gradient],
    ['gradient check', check],
    ['values and heat of lines', lines]
  ];
  if (total !== null) {
    const rest = parts.reduce((left, [, time]) => left - (time ?? 0), total);
    parts.push(['everything else', Math.max(rest, 0)]);
  }
  const told = parts.flatMap(([name, time]) => (time === null ? [] : [`${name} ${seconds(time)}`]));
  const whole = total === null ? '' : `${seconds(total)} in all: `;
  return told.length === 0 ? [] : [['time', whole + told.join(' · ')]];
}

/** The editor's marks line by line, as an accessible table. */
function linesTable(heat: Heat | null, probe: Probe | null, go: Go): HTMLElement | null {
  const adjoints = new Map(heat?.lines.map(({ line, adjoint }) => [line, adjoint]));
  const values = new Map<number, string[]>();
  for (const { line, text } of probe?.values ?? []) {
    values.set(line, [...(values.get(line) ?? []), text]);
  }
  const lines = Array.from(new Set([...adjoints.keys(), ...values.keys()])).sort((a, b) => a - b);
  if (lines.length === 0) {
    return null;
  }
  const rows = lines.map(line => [
    link(`line ${line}`, `Show line ${line} of the cell`, () => go(line)),
    html('div', {}, ...(values.get(line) ?? []).map(text => html('div', {}, text))),
    adjoints.has(line) ? written(adjoints.get(line) ?? 0) : ''
  ]);
  return html(
    'details',
    {},
    html('summary', {}, 'Line by line'),
    table('Values and adjoints of each line', ['', `value${where(probe)}`, 'adjoint (RMS)'], rows, [2])
  );
}

function written(value: Real): string {
  return typeof value === 'number' ? brief(value) : value;
}

/** The iteration whose values are shown, as in " at i = 3, trip 10 of 10"; empty without one. */
export function where(probe: Probe | null): string {
  if (probe === null || (probe.indices.length === 0 && probe.trip === null)) {
    return '';
  }
  const indices = probe.indices.map(({ name, value }) => `${name} = ${value}`);
  const trip = probe.trip === null ? [] : [`trip ${probe.trip.value + 1} of ${probe.trip.count}`];
  return ` at ${[...indices, ...trip].join(', ')}`;
}
