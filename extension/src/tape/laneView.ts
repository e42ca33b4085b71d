/** The fields of a tape as a graph: a lane for each field, a column for each folded call, a symbol per access. */
import type { Call, Tape } from '../model/report.ts';
import { html, svg } from '../page/dom.ts';
import { shortened, times } from '../page/text.ts';
import { repeats } from './folding.ts';
import { lanes, TOUCHES } from './lanes.ts';
import type { Column, Lanes, Touch } from './lanes.ts';

const MOST_COLUMNS = 60;
const LANE = 24;
const COLUMN = 44;
/** The inset of a repeat's frame in the enclosing one, and the height of the line with its count. */
const INSET = 4;
const COUNT = 15;
const SIGN = 13;
const LETTER = 7;
const LONGEST_NAME = 24;

/** The legend of the symbols. */
const MEANING: Record<Touch, string> = {
  reads: 'reads',
  stores: 'stores',
  accumulates: 'adds to',
  overwrites: 'overwrites'
};

export function laneView(tape: Tape, reveal: (call: Call) => void): HTMLElement {
  const graph = lanes(tape, MOST_COLUMNS);
  const names = graph.fields.map(name => shortened(name, LONGEST_NAME));
  const left = LETTER * Math.max(0, ...names.map(name => Array.from(name).length)) + 16;
  const heads = graph.columns.map(({ call }) => shortened(call.kernel, LONGEST_NAME));
  const frames = repeats(tape).filter(({ first }) => first < graph.columns.length);
  const levels = Math.max(0, ...frames.map(({ level }) => level + 1));
  const slant = LETTER * 0.75 * Math.max(0, ...heads.map(head => Array.from(head).length)) + 12;
  const top = slant + 22;
  const width = left + COLUMN * graph.columns.length + slant;
  const bottom = top + LANE * graph.fields.length;
  const height = bottom + 8 + COUNT * levels; // with room for the repeat counts
  const x = (column: number) => left + COLUMN * (column + 0.5);
  const y = (lane: number) => top + LANE * (lane + 0.5);
  const picture = svg(
    'svg',
    {
      class: 'dsim-lanes',
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': described(graph)
    },
    ...names.map((name, lane) => laneLine(name, graph, lane, x, y(lane), left)),
    ...frames.flatMap(({ first, last, count, level }) =>
      frame(x(first), x(Math.min(last, graph.columns.length - 1)), top, bottom, level, levels, times(count))
    ),
    ...graph.columns.map((column, index) => columnMarks(column, heads[index] ?? '', x(index), top, y, reveal))
  );
  const rest =
    graph.left === 0 ? null : html('p', { class: 'dsim-hint' }, `and ${graph.left} calls more, in the table`);
  return html(
    'div',
    { class: 'dsim-graph' },
    html(
      'div',
      { class: 'dsim-scroll', tabindex: 0, role: 'group', 'aria-label': 'Fields and calls' },
      picture
    ),
    signs(),
    rest
  );
}

/** The graph in words; the table has the details. */
function described(graph: Lanes): string {
  const columns = graph.columns.map(({ call, touches }) => {
    const parts = touches.map(({ lane, touch }) => `${MEANING[touch]} ${graph.fields[lane]}`);
    return `${call.kernel} ${parts.join(', ')}`;
  });
  return `Calls and the fields that they touch: ${columns.join('; ')}`;
}

function laneLine(
  name: string,
  graph: Lanes,
  lane: number,
  x: (column: number) => number,
  y: number,
  left: number
): Node {
  const touched = graph.columns.flatMap(({ touches }, index) =>
    touches.some(each => each.lane === lane) ? [index] : []
  );
  return svg(
    'g',
    {},
    svg('text', { x: left - 10, y: y + 4, 'text-anchor': 'end' }, name),
    svg('line', { class: 'dsim-lane', x1: left - 4, x2: x(graph.columns.length - 0.5), y1: y, y2: y }),
    svg('line', { class: 'dsim-life', x1: x(touched[0] ?? 0), x2: x(touched.at(-1) ?? 0), y1: y, y2: y })
  );
}

function columnMarks(
  { call, touches }: Column,
  head: string,
  x: number,
  top: number,
  y: (lane: number) => number,
  reveal: (call: Call) => void
): Node {
  const ys = touches.map(({ lane }) => y(lane));
  const low = Math.max(top, ...ys);
  const column = svg(
    'g',
    { class: call.line === null ? 'dsim-call' : 'dsim-call dsim-goes' },
    svg('title', {}, call.line === null ? call.kernel : `${call.kernel}: show its lines`),
    svg('rect', { class: 'dsim-hit', x: x - COLUMN / 2, y: top - 12, width: COLUMN, height: low - top + 24 }),
    svg('text', { x: x + 2, y: top - 20, transform: `rotate(-40 ${x} ${top - 20})` }, head),
    svg('line', { class: 'dsim-stem', x1: x, x2: x, y1: top - 12, y2: low }),
    ...touches.map(({ lane, touch }) => sign(touch, x + beside(touches, lane, touch), y(lane)))
  );
  column.addEventListener('click', () => reveal(call));
  return column;
}

/** The offset of a symbol from the stem: several accesses to one field are side by side. */
function beside(touches: Column['touches'], lane: number, touch: Touch): number {
  const same = touches.filter(each => each.lane === lane);
  return SIGN * (same.findIndex(each => each.touch === touch) - (same.length - 1) / 2);
}

/** A frame around the columns that repeat together, with "× 2048" below. */
function frame(
  first: number,
  last: number,
  top: number,
  bottom: number,
  level: number,
  levels: number,
  count: string
): Node[] {
  const out = COLUMN * 0.48 - INSET * level;
  const below = COUNT * (levels - 1 - level);
  return [
    svg('rect', {
      class: 'dsim-repeat',
      x: first - out,
      y: top - 14 + INSET * level,
      width: last - first + 2 * out,
      height: bottom - top + 16 + below - INSET * level,
      rx: 6
    }),
    svg(
      'text',
      { class: 'dsim-count', x: (first + last) / 2, y: bottom + below + 14, 'text-anchor': 'middle' },
      count.trim()
    )
  ];
}

function sign(touch: Touch, x: number, y: number): Node {
  const shape = { class: `dsim-touch dsim-touch-${touch}` };
  switch (touch) {
    case 'reads':
      return svg('circle', { ...shape, cx: x, cy: y, r: 4.5 });
    case 'stores':
      return svg('rect', { ...shape, x: x - 4.5, y: y - 4.5, width: 9, height: 9 });
    case 'accumulates':
      return svg('path', { ...shape, d: `M${x - 5.5} ${y}h11M${x} ${y - 5.5}v11` });
    case 'overwrites':
      return svg('path', { ...shape, d: `M${x} ${y - 6}l6 11h-12z` });
  }
}

function signs(): HTMLElement {
  const entries = TOUCHES.map(touch => html('span', {}, svgIcon(touch), MEANING[touch]));
  return html('p', { class: 'dsim-signs' }, ...entries);
}

function svgIcon(touch: Touch): Node {
  return svg(
    'svg',
    { class: 'dsim-lanes', width: 16, height: 14, viewBox: '0 0 16 14', 'aria-hidden': 'true' },
    sign(touch, 8, 7)
  );
}
