/** Curves against the step of a tape, one over the other, with one cursor through all of them. */
import { html, svg } from './dom.ts';
import type { Real } from './report.ts';
import type { Axis, Label } from './scale.ts';
import { linearAxis, logAxis } from './scale.ts';
import { brief } from './text.ts';

export interface Curve {
  name: string;
  values: Real[];
  log: boolean;
  label: Label;
}

const WIDTH = 460;
const HEIGHT = 92;
const LEFT = 58;
const RIGHT = 28;
const TOP = 8;
const FOOT = 18;
/** Up to so many points each is drawn as a dot, too. */
const DOTTED = 64;

interface Drawn {
  curve: Curve;
  axis: Axis;
  cursor: SVGElement;
  picture: SVGSVGElement;
}

/**
 * Draw curves over `steps`.
 *
 * The whole is a slider for keyboards and screen readers: the arrow keys move the cursor, and what the curves say
 * there is its value. `go` is called with a step that a person clicks on, or presses Enter at.
 */
export function plots(steps: number[], curves: Curve[], tell: (step: number) => string, go: (step: number) => void): HTMLElement {
  const across = linearAxis(steps, step => step.toLocaleString('en'));
  const x = (step: number) => LEFT + across.place(step) * (WIDTH - LEFT - RIGHT);
  const drawn = curves.map((curve, index) => draw(curve, steps, x, across, index === curves.length - 1));
  const readout = html('p', { class: 'dsim-readout', 'aria-hidden': 'true' });
  const slider = html(
    'div',
    {
      class: 'dsim-plots',
      role: 'slider',
      tabindex: 0,
      'aria-label': 'Step of the tape',
      'aria-valuemin': String(steps[0] ?? 0),
      'aria-valuemax': String(steps.at(-1) ?? 0)
    },
    ...drawn.map(({ curve, picture }) => html('figure', {}, html('figcaption', {}, caption(curve)), picture))
  );
  let at = 0;
  const move = (index: number) => {
    at = Math.min(Math.max(index, 0), steps.length - 1);
    const step = steps[at] ?? 0;
    for (const { cursor } of drawn) {
      cursor.setAttribute('transform', `translate(${x(step)} 0)`);
    }
    const said = [`step ${step}`, tell(step), ...curves.map(curve => `${curve.name} ${written(curve, at)}`)].join(' · ');
    readout.textContent = said;
    slider.setAttribute('aria-valuenow', String(step));
    slider.setAttribute('aria-valuetext', said);
  };
  move(0);
  const under = (event: MouseEvent) => {
    const box = drawn[0]?.picture.getBoundingClientRect();
    const wanted = box ? event.clientX - box.left : 0;
    return nearest(steps.map(x), wanted);
  };
  slider.addEventListener('pointermove', event => move(under(event)));
  slider.addEventListener('click', event => go(steps[under(event)] ?? 0));
  slider.addEventListener('keydown', event => {
    const page = Math.max(1, Math.round(steps.length / 10));
    const moves: Record<string, number> = {
      ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1,
      PageDown: at - page, PageUp: at + page, Home: 0, End: steps.length - 1
    }; // prettier-ignore
    const to = moves[event.key];
    if (to !== undefined) {
      move(to);
      event.preventDefault();
    } else if (event.key === 'Enter') {
      go(steps[at] ?? 0);
      event.preventDefault();
    }
  });
  return html('div', {}, slider, readout);
}

function caption({ name, log }: Curve): string {
  return log ? `${name} (logarithmic)` : name;
}

/** The index of the number that is closest to `wanted`. */
function nearest(numbers: number[], wanted: number): number {
  let best = 0;
  numbers.forEach((number, index) => {
    if (Math.abs(number - wanted) < Math.abs((numbers[best] ?? 0) - wanted)) {
      best = index;
    }
  });
  return best;
}

function written(curve: Curve, index: number): string {
  const value = curve.values[index] ?? 'nan';
  return typeof value === 'number' ? curve.label(value) : value;
}

function draw(curve: Curve, steps: number[], x: (step: number) => number, across: Axis, last: boolean): Drawn {
  const finite = curve.values.filter(value => typeof value === 'number');
  const axis = curve.log ? logAxis(finite) : linearAxis([0, ...finite], curve.label);
  const y = (value: number) => TOP + (1 - axis.place(value)) * (HEIGHT - TOP - FOOT);
  const points = curve.values.map((value, index) => ({ x: x(steps[index] ?? 0), value }));
  const cursor = svg('line', { class: 'dsim-cursor', y1: TOP - 4, y2: HEIGHT - FOOT });
  const height = HEIGHT - (last ? 0 : FOOT - 6);
  const picture = svg(
    'svg',
    { class: 'dsim-plot', width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}`, role: 'img', 'aria-label': described(curve, steps) },
    ...axis.ticks.map(({ at, label }) => tickAcross(TOP + (1 - at) * (HEIGHT - TOP - FOOT), label)),
    ...(last ? across.ticks.map(({ at, label }) => tickBelow(LEFT + at * (WIDTH - LEFT - RIGHT), label)) : []),
    svg('path', { class: 'dsim-curve', d: path(points, y) }),
    ...(points.length <= DOTTED ? points.flatMap(point => dot(point, y)) : []),
    ...points.flatMap(point => (typeof point.value === 'string' ? [cross(point.x)] : [])),
    cursor
  );
  return { curve, axis, cursor, picture };
}

interface Point {
  x: number;
  value: Real;
}

/** A line through the values that are numbers; it is broken where one is not. */
function path(points: Point[], y: (value: number) => number): string {
  let pen = 'M';
  return points
    .map(({ x, value }) => {
      if (typeof value !== 'number') {
        pen = 'M';
        return '';
      }
      const part = `${pen}${x.toFixed(1)} ${y(value).toFixed(1)}`;
      pen = 'L';
      return part;
    })
    .join('');
}

function dot({ x, value }: Point, y: (value: number) => number): Node[] {
  return typeof value === 'number' ? [svg('circle', { class: 'dsim-dot', cx: x.toFixed(1), cy: y(value).toFixed(1), r: 2 })] : [];
}

/** What is not a number stands at the top. */
function cross(x: number): Node {
  return svg('path', { class: 'dsim-nonfinite', d: `M${x - 3.5} ${TOP - 3.5}l7 7m0 -7l-7 7` });
}

function tickAcross(y: number, label: string): Node {
  return svg(
    'g',
    {},
    svg('line', { class: 'dsim-grid', x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y }),
    svg('text', { x: LEFT - 5, y: y + 3.5, 'text-anchor': 'end' }, label)
  );
}

function tickBelow(x: number, label: string): Node {
  return svg('text', { x, y: HEIGHT - 4, 'text-anchor': 'middle' }, label);
}

function described(curve: Curve, steps: number[]): string {
  const known = curve.values.flatMap((value, index) => (typeof value === 'number' ? [{ value, step: steps[index] ?? 0 }] : []));
  const wrong = curve.values.flatMap((value, index) => (typeof value === 'string' ? [steps[index] ?? 0] : []));
  const parts = [];
  if (known.length > 0) {
    const low = known.reduce((a, b) => (b.value < a.value ? b : a));
    const high = known.reduce((a, b) => (b.value > a.value ? b : a));
    parts.push(`smallest ${curve.label(low.value)} at step ${low.step}, largest ${curve.label(high.value)} at step ${high.step}`);
  }
  if (wrong.length > 0) {
    parts.push(`not finite at ${wrong.length} of ${steps.length} points, first at step ${Math.min(...wrong)}`);
  }
  return `${curve.name} against the step: ${parts.join('; ')}`;
}

export const numberLabel: Label = brief;
