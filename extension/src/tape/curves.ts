/** A plot of one quantity over the steps of a tape: an axis, a line for each kernel, a movable cursor. */
import type { Real } from '../model/report.ts';
import { html, svg } from '../page/dom.ts';
import { linearAxis, logAxis } from './scale.ts';
import type { Axis, Label } from './scale.ts';

/** Values at the steps of the tape. */
export interface Curve {
  name: string;
  values: Real[];
  log: boolean;
  label: Label;
  /** Formats the tick values, if not by `label`. */
  ticks?: Label | undefined;
}

/** The shared axis of the steps of the tape. */
export interface Across {
  steps: number[];
  /** The position of each step in the picture. */
  xs: number[];
  axis: Axis;
}

export interface Drawn {
  curve: Curve;
  cursor: SVGElement;
  picture: SVGSVGElement;
}

const WIDTH = 460;
const HEIGHT = 92;
const LEFT = 58;
const RIGHT = 28;
const TOP = 8;
const FOOT = 18;
/** Up to this number, points are also drawn as dots; a single point has no line, so its dot is larger. */
const DOTTED = 64;
/** The number of kernels, those called most, with a line each; the others share one. */
const MOST_LINES = 5;

export function acrossOf(steps: number[]): Across {
  const axis = linearAxis(steps, step => step.toLocaleString('en'));
  return { steps, axis, xs: steps.map(step => LEFT + axis.place(step) * (WIDTH - LEFT - RIGHT)) };
}

/** The text of a curve at the step with this index. */
export function written(curve: Curve, index: number): string {
  const value = curve.values[index] ?? 'nan';
  return typeof value === 'number' ? curve.label(value) : value;
}

export interface Line {
  name: string;
  /** The indices of its points. */
  points: number[];
}

/** A line for each kernel: one line would jump between the values of different kernels. */
export function linesOf(kernels: string[]): Line[] {
  const points = new Map<string, number[]>();
  kernels.forEach((name, index) => {
    const own = points.get(name) ?? [];
    own.push(index);
    points.set(name, own);
  });
  const lines = Array.from(points, ([name, own]) => ({ name, points: own }));
  lines.sort((a, b) => b.points.length - a.points.length);
  const rest = lines.slice(MOST_LINES).flatMap(line => line.points);
  const others = { name: 'others', points: rest.sort((a, b) => a - b) };
  return rest.length === 0 ? lines : [...lines.slice(0, MOST_LINES), others];
}

/** The legend of the lines. */
export function keyOf(lines: Line[]): HTMLElement | null {
  if (lines.length < 2) {
    return null;
  }
  const sample = (index: number) =>
    svg(
      'svg',
      { class: 'dsim-plot', width: 24, height: 10, viewBox: '0 0 24 10', 'aria-hidden': 'true' },
      svg('path', { class: `dsim-curve dsim-curve-${index}`, d: 'M0 5h24' })
    );
  return html(
    'p',
    { class: 'dsim-signs' },
    ...lines.map(({ name }, index) => html('span', {}, sample(index), name))
  );
}

/** Draw a curve; the last one, at the bottom, has the step numbers. */
export function draw(curve: Curve, { steps, xs, axis: across }: Across, lines: Line[], last: boolean): Drawn {
  const finite = curve.values.filter(value => typeof value === 'number');
  const axis = curve.log ? logAxis(finite, curve.ticks) : linearAxis([0, ...finite], curve.label);
  const y = (value: number) => TOP + (1 - axis.place(value)) * (HEIGHT - TOP - FOOT);
  const cursor = svg('line', { class: 'dsim-cursor', y1: TOP - 4, y2: HEIGHT - FOOT });
  const height = HEIGHT - (last ? 0 : FOOT - 6);
  const points = curve.values.map((value, index) => ({ x: xs[index] ?? 0, value }));
  const picture = svg(
    'svg',
    {
      class: 'dsim-plot',
      width: WIDTH,
      height,
      viewBox: `0 0 ${WIDTH} ${height}`,
      role: 'img',
      'aria-label': described(curve, steps)
    },
    ...axis.ticks.map(({ at, label }) => tickAcross(TOP + (1 - at) * (HEIGHT - TOP - FOOT), label)),
    ...(last ? across.ticks : []).map(({ at, label }) =>
      tickBelow(LEFT + at * (WIDTH - LEFT - RIGHT), label)
    ),
    ...lines.flatMap((line, index) =>
      drawLine(
        line.points.flatMap(each => points[each] ?? []),
        index,
        y
      )
    ),
    ...points.flatMap(point => (typeof point.value === 'string' ? [cross(point.x)] : [])),
    cursor
  );
  return { curve, cursor, picture };
}

interface Point {
  x: number;
  value: Real;
}

/** A line through the finite values, with gaps at others. */
function drawLine(points: Point[], index: number, y: (value: number) => number): Node[] {
  let pen = 'M';
  const parts = points.map(({ x, value }) => {
    if (typeof value !== 'number') {
      pen = 'M';
      return '';
    }
    const part = `${pen}${x.toFixed(1)} ${y(value).toFixed(1)}`;
    pen = 'L';
    return part;
  });
  const dots = points.length > DOTTED ? [] : points.flatMap(point => dot(point, index, y, points.length === 1 ? 3 : 1.5));
  return [svg('path', { class: `dsim-curve dsim-curve-${index}`, d: parts.join('') }), ...dots];
}

function dot({ x, value }: Point, index: number, y: (value: number) => number, r: number): Node[] {
  if (typeof value !== 'number') {
    return [];
  }
  return [
    svg('circle', {
      class: `dsim-dot dsim-curve-${index}`,
      cx: x.toFixed(1),
      cy: y(value).toFixed(1),
      r
    })
  ];
}

/** A marker at the top for a value that is not a number. */
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

/** A curve in words: its ends, and the steps where it is not a number. */
function described(curve: Curve, steps: number[]): string {
  const known = curve.values.flatMap((value, index) =>
    typeof value === 'number' ? [{ value, step: steps[index] ?? 0 }] : []
  );
  const wrong = curve.values.flatMap((value, index) =>
    typeof value === 'string' ? [steps[index] ?? 0] : []
  );
  const parts = [];
  if (known.length > 0) {
    const low = known.reduce((a, b) => (b.value < a.value ? b : a));
    const high = known.reduce((a, b) => (b.value > a.value ? b : a));
    parts.push(
      `smallest ${curve.label(low.value)} at step ${low.step}, largest ${curve.label(high.value)} at step ${high.step}`
    );
  }
  if (wrong.length > 0) {
    parts.push(
      `not finite at ${wrong.length} of ${steps.length} points, first at step ${Math.min(...wrong)}`
    );
  }
  return `${curve.name} against the step: ${parts.join('; ')}`;
}
