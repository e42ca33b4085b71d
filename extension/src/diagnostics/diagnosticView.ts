/** A diagnostic as elements: the message, its lines with annotations, the fix. */
import type { Diagnostic, Place, Report } from '../model/report.ts';
import { html, link } from '../page/dom.ts';
import { underlined } from '../page/text.ts';

const SIGNS = { error: '✖', warning: '▲', note: 'ℹ' };

/** Shows the lines of a place, in any cell of the notebook. */
export type Go = (place: Place) => void;

/** The part of the report that a diagnostic uses. */
type Around = Pick<Report, 'origins'>;

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
    html(
      'p',
      { class: 'dsim-message' },
      html('span', { class: 'dsim-sign', 'aria-hidden': 'true' }, SIGNS[diagnostic.level]),
      html('span', { class: 'dsim-kind' }, `${diagnostic.level}[${diagnostic.code}]`),
      html('span', {}, diagnostic.message)
    ),
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
