/** A diagnostic as elements: what is wrong, the lines that it is about, the fix. */
import { html, link } from './dom.ts';
import type { Diagnostic } from './report.ts';

const SIGNS = { error: '✖', warning: '▲', note: 'ℹ' };

/** One diagnostic in one sentence, for those who hear it. */
export function spoken(diagnostic: Diagnostic): string {
  const related = diagnostic.related.map(each => `line ${each.line}: ${each.message}`);
  const help = diagnostic.help === null ? [] : [`help: ${diagnostic.help}`];
  return [`${diagnostic.level} in line ${diagnostic.line}: ${diagnostic.message}`, ...related, ...help].join(
    '. '
  );
}

/**
 * Draw a diagnostic.
 *
 * Parameters are the diagnostic, the text of the cell that it is about, and what to do when a person follows it to
 * a line of that cell.
 */
export function diagnosticView(
  diagnostic: Diagnostic,
  source: string | null,
  go: (line: number, endLine: number) => void
): HTMLElement {
  const lines = source?.split('\n') ?? [];
  const place = (line: number, endLine: number, message: string, text: string, inCell: boolean) => {
    const name = `line ${line}`;
    return html(
      'li',
      {},
      inCell ? link(name, `Show line ${line} of the cell`, () => go(line, endLine)) : html('span', {}, name),
      html('code', {}, text.trim()),
      message === '' ? null : html('span', {}, message)
    );
  };
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
    html(
      'ul',
      {},
      place(diagnostic.line, lastLine(diagnostic), '', lines[diagnostic.line - 1] ?? '', true),
      ...diagnostic.related.map(each =>
        place(each.line, lastLine(each), each.message, each.source, each.cell)
      )
    ),
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

/** Ends are exclusive: what ends in column 0 ends with the line before. */
function lastLine(span: { line: number; end_line: number; end_column: number }): number {
  return span.end_column === 0 && span.end_line > span.line ? span.end_line - 1 : span.end_line;
}
