/** What the editor of a cell shows of the cell's report: heat, values at the ends of lines, squiggles. */
import { StateEffect, StateField } from '@codemirror/state';
import type { EditorState, Range, Text, Transaction } from '@codemirror/state';
import { Decoration, EditorView, WidgetType } from '@codemirror/view';
import type { DecorationSet } from '@codemirror/view';
import type { Diagnostic, Heat, Probe, Report } from './report.ts';
import { places } from './source.ts';
import { shortened, utf16Offset, visible } from './text.ts';

/** Text at the end of a line is cut to this many characters; its title has all of it. */
const LONGEST = 120;

export interface Marks {
  report: Report | null;
  /** Whether the editor holds the text that the report is about. */
  fresh: boolean;
  /** Where each line of the report's source is in the editor; null when it is not there any more. */
  lines: (Span | null)[];
  /** Heat and values, which belong to whole lines. */
  onLines: DecorationSet;
  diagnostics: DecorationSet;
}

/** A line without its indentation: what is inserted before that is another line's. */
interface Span {
  from: number;
  to: number;
}

const NONE: Marks = {
  report: null,
  fresh: true,
  lines: [],
  onLines: Decoration.none,
  diagnostics: Decoration.none
};

/** The report that the editor shows from now on. */
export const showReport = StateEffect.define<Report | null>();

export const marks = StateField.define<Marks>({
  create: () => NONE,
  update(before, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(showReport)) {
        return marked(transaction.newDoc, effect.value);
      }
    }
    return transaction.docChanged ? edited(before, transaction) : before;
  },
  provide: field => [
    EditorView.decorations.from(field, value => value.onLines),
    EditorView.decorations.from(field, value => value.diagnostics),
    EditorView.editorAttributes.from(field, (value): Record<string, string> =>
      value.fresh ? {} : { class: 'dsim-stale' }
    )
  ]
});

/** The marks after an edit: they move with what they mark. */
function edited({ report, lines, diagnostics }: Marks, { changes, newDoc }: Transaction): Marks {
  if (report === null) {
    return NONE;
  }
  const { fresh } = places(report.source ?? '', newDoc.toString());
  if (fresh) {
    return marked(newDoc, report); // also what an earlier edit had removed is back
  }
  const moved = lines.map(span => {
    if (span === null) {
      return null;
    }
    const [from, to] = [changes.mapPos(span.from, 1), changes.mapPos(span.to, -1)];
    return to < from || (to === from && span.to > span.from) ? null : { from, to };
  });
  return {
    report,
    fresh,
    lines: moved,
    onLines: lineMarks(report, newDoc, moved),
    diagnostics: diagnostics.map(changes)
  };
}

/** The editor's line for a line of the report that it shows, or null when it is no longer there. */
export function lineInEditor(state: EditorState, line: number): number | null {
  const span = state.field(marks, false)?.lines[line - 1] ?? null;
  return span && state.doc.lineAt(span.from).number;
}

/** A diagnostic where it stands now. */
export interface Place {
  from: number;
  to: number;
  diagnostic: Diagnostic;
}

/** The diagnostics that the editor marks, in the order of the text. */
export function diagnosticsIn(state: EditorState): Place[] {
  const found: Place[] = [];
  state.field(marks, false)?.diagnostics.between(0, state.doc.length, (from, to, decoration) => {
    const diagnostic = decoration.spec.diagnostic as Diagnostic | undefined;
    if (diagnostic) {
      found.push({ from, to, diagnostic });
    }
  });
  return found;
}

function marked(document: Text, report: Report | null): Marks {
  if (report === null) {
    return NONE;
  }
  const { fresh, lines } = places(report.source ?? '', document.toString());
  const spans = lines.map(line => {
    if (line === null) {
      return null;
    }
    const { from, to, text } = document.line(line);
    return { from: from + (text.length - text.trimStart().length), to };
  });
  const diagnostics = diagnosticMarks(report.diagnostics, document, starts(document, spans));
  return {
    report,
    fresh,
    lines: spans,
    onLines: lineMarks(report, document, spans),
    diagnostics: Decoration.set(diagnostics, true)
  };
}

function lineMarks(report: Report, document: Text, spans: (Span | null)[]): DecorationSet {
  const start = starts(document, spans);
  return Decoration.set(
    [...heatMarks(report.heat, start), ...valueMarks(report.probe, document, start)],
    true
  );
}

/** Where the line begins that a line of the report is now. */
type Start = (line: number) => number | null;

function starts(document: Text, spans: (Span | null)[]): Start {
  return line => {
    const span = spans[line - 1] ?? null;
    return span && document.lineAt(span.from).from;
  };
}

function heatMarks(heat: Heat | null, start: Start): Range<Decoration>[] {
  const levels = new Map<number, number>(); // one mark a line, also if a report names it twice
  for (const { line, level } of heat?.lines ?? []) {
    const from = start(line);
    if (from !== null) {
      levels.set(from, Math.max(levels.get(from) ?? 0, Math.min(Math.max(level, 0), 1)));
    }
  }
  return Array.from(levels, ([from, level]) =>
    Decoration.line({ class: 'dsim-heat', attributes: { style: `--dsim-level: ${level}` } }).range(from)
  );
}

function diagnosticMarks(diagnostics: Diagnostic[], document: Text, start: Start): Range<Decoration>[] {
  return diagnostics.flatMap(diagnostic => {
    const first = start(diagnostic.line);
    if (first === null) {
      return [];
    }
    const last = start(diagnostic.end_line) ?? first;
    const line = document.lineAt(first);
    let from = first + utf16Offset(line.text, diagnostic.column);
    let to = last + utf16Offset(document.lineAt(last).text, diagnostic.end_column);
    if (to <= from) {
      to = line.to; // nothing to underline there: the line itself says where it is
      from = Math.min(from, line.to - 1);
    }
    if (to <= from || from < line.from) {
      from = line.from + (/^\s*/.exec(line.text)?.[0].length ?? 0);
    }
    if (to <= from) {
      return [];
    }
    return [Decoration.mark({ class: `dsim-squiggle dsim-${diagnostic.level}`, diagnostic }).range(from, to)];
  });
}

class LineEnd extends WidgetType {
  private readonly text: string;

  constructor(text: string) {
    super();
    this.text = text;
  }

  override eq(other: LineEnd): boolean {
    return this.text === other.text;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement('span');
    element.className = 'dsim-eol';
    element.textContent = shortened(this.text, LONGEST);
    element.title = this.text;
    return element;
  }

  /** A click on it sets the cursor, as a click on the empty space there does. */
  override ignoreEvent(): boolean {
    return false;
  }
}

function valueMarks(probe: Probe | null, document: Text, start: Start): Range<Decoration>[] {
  const texts = new Map<number, string[]>();
  for (const { line, text } of probe?.values ?? []) {
    const from = start(line);
    if (from !== null) {
      texts.set(from, [...(texts.get(from) ?? []), visible(text).replaceAll(/\s*\n\s*/g, ' ')]);
    }
  }
  return Array.from(texts, ([from, parts]) =>
    Decoration.widget({ widget: new LineEnd(parts.join('  ·  ')), side: 1 }).range(document.lineAt(from).to)
  );
}
