/** The norm of an adjoint at each step, on a logarithmic axis: 0 has a line of its own below, what is not finite one above. */
import { element } from '../dom.js';
import { drawing } from '../drawing.js';

const WIDE = 640;
const HIGH = 176;
const LEFT = 62;
const RIGHT = 8;
const TOP = 30;
const BOTTOM = 136;
const EDGE = 12; // pixels between the axis and the lines for 0 and for what is not finite
const MOST_POINTS = 2000; // points of a curve that are all drawn
const COLOURS = ['#3d84c6', '#d9772b'];
const BAD = '#d64545';

export class NormChart {
  /** `chart` has `label`, `unit`, `steps`, `norms` and `name`; `seek` is called with the place of a step. */
  constructor(chart, seek) {
    this.chart = chart;
    this.drawn = undefined;
    this.svg = drawing('svg', { viewBox: `0 0 ${WIDE} ${HIGH}`, class: 'dsim-view-chart-lines', role: 'img', 'aria-label': chart.summary });
    this.place = element('div', { class: 'dsim-view-chart' });
    this.place.append(this.svg, element('div', { class: 'dsim-view-chart-told' }, chart.told));
    const go = event => {
      if (event.buttons & 1) {
        const box = this.svg.getBoundingClientRect();
        seek(nearestTo(chart.steps, this.stepAt(((event.clientX - box.left) / box.width) * WIDE)));
        event.preventDefault();
      }
    };
    this.svg.addEventListener('pointerdown', event => {
      this.svg.setPointerCapture(event.pointerId);
      go(event);
    });
    this.svg.addEventListener('pointermove', go);
  }

  /** The place `at` is marked; `followed`, with a `name` and `norms`, is the second curve. */
  update(at, followed) {
    if (followed !== this.drawn) {
      this.drawn = followed;
      this.draw(followed === null ? [this.chart] : [this.chart, followed]);
    }
    const left = this.across(this.chart.steps[at] ?? 0);
    this.marker.setAttribute('x1', left);
    this.marker.setAttribute('x2', left);
  }

  across(step) {
    const { steps } = this.chart;
    return LEFT + ((step - steps[0]) / (steps.at(-1) - steps[0] || 1)) * (WIDE - LEFT - RIGHT);
  }

  stepAt(left) {
    const { steps } = this.chart;
    return steps[0] + ((left - LEFT) / (WIDE - LEFT - RIGHT)) * (steps.at(-1) - steps[0]);
  }

  draw(curves) {
    const scale = scaleOf(curves.flatMap(({ norms }) => norms));
    const parts = [...this.axes(scale, curves)];
    curves.forEach((curve, index) => parts.push(...this.curve(curve, COLOURS[index], scale, index)));
    this.marker = drawing('line', { y1: TOP - 8, y2: BOTTOM + 4, class: 'dsim-view-chart-marker' });
    this.svg.replaceChildren(...parts, this.marker);
  }

  *axes(scale, curves) {
    for (const power of scale.ticks) {
      yield drawing('line', { x1: LEFT, x2: WIDE - RIGHT, y1: scale.up(power), y2: scale.up(power), class: 'dsim-view-chart-rule' });
      yield words(LEFT - 6, scale.up(power) + 4, shortPower(power), { 'text-anchor': 'end' });
    }
    if (scale.zeros) {
      yield words(LEFT - 6, BOTTOM + 4, '0', { 'text-anchor': 'end' });
    }
    if (scale.bad) {
      yield words(LEFT - 6, TOP + 4, 'not finite', { 'text-anchor': 'end', fill: BAD });
    }
    const { steps, unit } = this.chart;
    const first = words(LEFT, BOTTOM + 20, steps[0].toLocaleString('en'));
    const last = words(WIDE - RIGHT, BOTTOM + 20, `${unit} ${steps.at(-1).toLocaleString('en')}`, { 'text-anchor': 'end' });
    yield first;
    yield last;
    let left = LEFT;
    for (const [index, { name }] of curves.entries()) {
      const key = words(left, 14, `${index ? '- - ' : '— '}${name}`, { fill: COLOURS[index] });
      key.setAttribute('class', 'dsim-view-chart-name');
      yield key;
      left += Math.min(300, 7 * (name.length + 6));
    }
  }

  *curve({ norms }, colour, scale, index) {
    const { steps } = this.chart;
    const height = value => (value === null ? TOP : value === 0 ? BOTTOM : scale.up(Math.log10(value)));
    let path = '';
    let before = null;
    for (const at of thinned(norms)) {
      const value = norms[at];
      const point = `${this.across(steps[at]).toFixed(1)} ${height(value).toFixed(1)}`;
      if (value === null || value === 0) {
        yield spot(point, value === null ? BAD : colour);
        before = null;
      } else {
        path += `${before === null ? 'M' : 'L'}${point}`;
        before = value;
      }
    }
    yield drawing('path', { d: path || 'M0 0', fill: 'none', stroke: colour, 'stroke-width': 1.6, ...(index ? { 'stroke-dasharray': '5 3' } : {}), 'stroke-linecap': 'round' });
  }
}

function scaleOf(norms) {
  const powers = norms.filter(value => value !== null && value > 0).map(Math.log10);
  const zeros = norms.includes(0);
  const bad = norms.includes(null);
  let low = powers.length ? Math.floor(powers.reduce((a, b) => Math.min(a, b))) : 0;
  let high = powers.length ? Math.ceil(powers.reduce((a, b) => Math.max(a, b))) : 0;
  if (high === low) {
    high += 1;
    low -= powers.length ? 0 : 1;
  }
  const top = TOP + (bad ? EDGE : 0);
  const bottom = BOTTOM - (zeros ? EDGE : 0);
  const stride = Math.max(1, Math.ceil((high - low) / 5));
  const ticks = powers.length ? Array.from({ length: Math.floor((high - low) / stride) + 1 }, (_, index) => low + index * stride) : [];
  return { zeros, bad, ticks, up: power => bottom - ((power - low) / (high - low)) * (bottom - top) };
}

/** The places that are drawn: all, or of each part of many those of the least and the greatest value. */
export function thinned(norms) {
  if (norms.length <= MOST_POINTS) {
    return norms.map((_, index) => index);
  }
  const kept = new Set([0, norms.length - 1]);
  const part = (2 * norms.length) / MOST_POINTS;
  for (let from = 0; from < norms.length; from += part) {
    const [begin, end] = [Math.floor(from), Math.min(Math.floor(from + part), norms.length)];
    let [least, most] = [begin, begin];
    for (let at = begin; at < end; at++) {
      const value = norms[at] ?? Infinity;
      least = value < (norms[least] ?? Infinity) ? at : least;
      most = value > (norms[most] ?? Infinity) ? at : most;
    }
    kept.add(least).add(most);
  }
  return [...kept].sort((a, b) => a - b);
}

/** The place of the number in an ascending list that is nearest. */
export function nearestTo(steps, wanted) {
  let [low, high] = [0, steps.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    [low, high] = steps[middle] <= wanted ? [middle, high] : [low, middle];
  }
  return wanted - steps[low] <= steps[high] - wanted ? low : high;
}

function shortPower(power) {
  return Math.abs(power) < 4 ? String(Number((10 ** power).toPrecision(1))) : `1e${power}`.replace('-', '−');
}

function spot(point, fill) {
  const [cx, cy] = point.split(' ');
  return drawing('circle', { cx, cy, r: 2, fill });
}

function words(x, y, text, attributes = {}) {
  const made = drawing('text', { x, y, ...attributes });
  made.textContent = text;
  return made;
}
