/** A diagnostic as elements: the message, which opens what its code means, its lines with annotations, the fix. */
import type { Diagnostic, Explanation, Place, Report } from '../model/report.ts';
import { html, link } from '../page/dom.ts';
import { underlined } from '../page/text.ts';

const SIGNS = { error: '✖', warning: '▲', note: 'ℹ' };

/** Shows the lines of a place, in any cell of the notebook. */
export type Go = (place: Place) => void;

/** The parts of the report that a diagnostic uses. */
type Around = Pick<Report, 'origins' | 'explanations'>;

/** One diagnostic in sentences, for screen readers. */
export function spoken(diagnostic: Diagnostic, report: Around): string {
  const said = (place: Place) => [placeName(place, report), place.label].filter(Boolean).join(': ');
  const where = placeName(diagnostic, report);
  const help = diagnostic.help === null ? [] : [`help: ${diagnostic.help}`];
  return [
    `${diagnostic.level}${where === '' ? '' : ` in ${where}`}: ${diagnostic.message}`,
    diagnostic.label,
    ...diagnostic.related.map(said),
    ...help
  ]
    .filter(Boolean)
    .join('. ');
}

/** "line 3", with the cell or file when that is not the report's own; empty for no place. */
function placeName(place: Place, { origins }: Around): string {
  const origin = place.origin === null ? undefined : origins[place.origin];
  return origin === undefined ? '' : `${origin.here ? '' : `${origin.name}, `}line ${place.line}`;
}

/** Draw a diagnostic; its links call `go`. */
export function diagnosticView(diagnostic: Diagnostic, report: Around, go: Go): HTMLElement {
  const places = [diagnostic, ...diagnostic.related].flatMap((place, index) => {
    const name = placeName(place, report);
    return name === '' ? [] : [placeView(place, name, index === 0 ? '^' : '-', go)];
  });
  return html(
    'div',
    { class: `dsim-diagnostic dsim-level-${diagnostic.level}` },
    messageView(diagnostic, report),
    html('ul', {}, ...places),
    diagnostic.help === null
      ? null
      : html(
          'p',
          { class: 'dsim-help' },
          html('span', { class: 'dsim-kind' }, 'help'),
          html('span', {}, diagnostic.help)
        )
  );
}

/** The message; a click on it shows what the code means. */
function messageView(diagnostic: Diagnostic, { explanations = [] }: Around): HTMLElement {
  const { level, code, message } = diagnostic;
  const said = [
    html('span', { class: 'dsim-sign', 'aria-hidden': 'true' }, SIGNS[level]),
    html('span', { class: 'dsim-kind' }, `${level}[${code}]`),
    html('span', {}, message)
  ];
  const meaning = explanations.find(each => each.level === level && each.code === code);
  if (meaning === undefined) {
    return html('p', { class: 'dsim-message' }, ...said);
  }
  const summary = html('summary', { class: 'dsim-message', title: `What ${level}[${code}] means` }, ...said);
  return html('details', { class: 'dsim-explained' }, summary, ...meaningView(meaning));
}

function meaningView({ parts, address = '' }: Explanation): HTMLElement[] {
  const told = parts.map(({ block, text }) => html(block ? 'pre' : 'p', {}, text));
  if (!/^https?:\/\//.test(address)) {
    return told;
  }
  return [...told, html('p', {}, html('a', { href: address, target: '_blank', rel: 'noopener' }, address))];
}

/** The link to the lines of a place; null for no place. */
export function placeLink(place: Place, report: Around, go: Go): HTMLElement | null {
  const name = placeName(place, report);
  return name === '' ? null : link(name, `Show ${name}`, () => go(place));
}

/** A line with its underlined range, and the annotation below. */
function placeView(place: Place, name: string, sign: string, go: Go): HTMLElement {
  const { code, before, width } = underlined(place);
  return html(
    'li',
    {},
    link(name, `Show ${name}`, () => go(place)),
    html(
      'div',
      { class: 'dsim-place' },
      html('code', {}, code),
      html(
        'code',
        {},
        // The text before the carets, repeated invisibly, aligns them at any width of its characters.
        html('span', { class: 'dsim-before', 'aria-hidden': 'true' }, before),
        html('span', { class: 'dsim-sign', 'aria-hidden': 'true' }, sign.repeat(width)),
        place.label === '' ? null : html('span', { class: 'dsim-label' }, place.label)
      )
    )
  );
}

/** The last line of a place. Ends are exclusive: a range that ends in column 0 ends with the line before. */
export function lastLine(span: { line: number; end_line: number; end_column: number }): number {
  return span.end_column === 0 && span.end_line > span.line ? span.end_line - 1 : span.end_line;
}
