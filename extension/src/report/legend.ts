/** The legend of the marks in the editor: the scale of the heat, and the iteration whose values are shown. */
import type { Heat, Real, Report } from '../model/report.ts';
import { html } from '../page/dom.ts';
import { brief } from '../page/text.ts';
import { where } from './summaryView.ts';

export function legend(report: Report): HTMLElement | null {
  const probe = report.probe === null || report.probe.values.length === 0 ? null : where(report.probe);
  if (report.heat === null && probe === null) {
    return null;
  }
  return html(
    'p',
    { class: 'dsim-legend' },
    report.heat === null ? null : heatLegend(report.heat),
    probe === null ? null : html('span', {}, `line ends: values${probe}`)
  );
}

function heatLegend(heat: Heat): HTMLElement {
  const steps = [0, 0.25, 0.5, 0.75, 1].map(level => html('i', { style: `--dsim-level: ${level}` }));
  const end = (value: Real) => html('b', {}, typeof value === 'number' ? brief(value) : value);
  if (heat.low === heat.high) {
    return html(
      'span',
      {},
      `how ${heat.loss} reacts to a line: `,
      end(heat.low),
      ', for each that is marked'
    );
  }
  return html(
    'span',
    {
      title:
        'Root mean square, over the iterations, of the adjoints of what a line computes; logarithmic scale'
    },
    `how ${heat.loss} reacts to a line: `,
    end(heat.low),
    html('span', { class: 'dsim-scale', 'aria-hidden': 'true' }, ...steps),
    end(heat.high)
  );
}
