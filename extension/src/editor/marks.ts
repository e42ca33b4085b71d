/** The editor's decorations from its cell's report: heat, values at the ends of lines, squiggles. */
import { countColumn, StateEffect, StateField } from '@codemirror/state';
import type { EditorState, Range, Text, Transaction } from '@codemirror/state';
import { Decoration, EditorView } from '@codemirror/view';
import type { DecorationSet } from '@codemirror/view';
import type { Diagnostic, Heat, Probe, Report } from '../model/report.ts';
import { utf16Offset } from '../page/text.ts';
import { LineEnd } from './lineEnds.ts';
import { places } from './source.ts';

/** Columns of a tab, an approximation for the length of a line. */
const TAB = 4;
/** The separator between the values of one line. */
const BETWEEN = '  ·  ';

export interface Marks {
  report: Report | null;
  /** Whether the editor's text equals the report's source. */
  fresh: boolean;
  /** The editor's line for each line of the report's source; null when it was edited or removed. */
  lines: (Span | null)[];
  /** Heat and values, which belong to whole lines. */
  onLines: DecorationSet;
  diagnostics: DecorationSet;
  /** The editor's width in columns. */
  room: number;
}

/** A line without its indentation: an insertion before that belongs to another line. */
interface Span {
  from: number;
  to: number;
}

const NONE: Marks = {
  report: null,
  fresh: true,
  lines: [],
  onLines: Decoration.none,
  diagnostics: Decoration.none,
  room: Infinity
};

/** Sets the report that the editor shows. */
export const showReport = StateEffect.define<Report | null>();

/** Sets the editor's width in columns. */
export const makeRoom = StateEffect.define<number>();

export const marks = StateField.define<Marks>({
  create: () => NONE,
  update(before, transaction) {
    const { newDoc } = transaction;
    let now = transaction.docChanged ? edited(before, transaction) : before;
    for (const effect of transaction.effects) {
      if (effect.is(showReport)) {
        now = marked(newDoc, effect.value, now.room);
      } else if (effect.is(makeRoom)) {
        now = { ...now, room: effect.value };
        now.onLines = now.report === null ? Decoration.none : lineMarks(now, newDoc);
      }
    }
    return now;
  },
  provide: field => [
    EditorView.decorations.from(field, value => value.onLines),
    EditorView.decorations.from(field, value => value.diagnostics),
    EditorView.editorAttributes.from(field, ({ fresh, report }): Record<string, string> => {
      const old = fresh && report?.stale === undefined ? [] : ['dsim-stale'];
      return { class: [...old, ...(fresh ? [] : ['dsim-altered'])].join(' ') };
    })
  ]
});

/** The marks after an edit: they move with the marked text. */
function edited(before: Marks, { changes, newDoc }: Transaction): Marks {
  const { report, room } = before;
  if (report === null) {
    return before;
  }
  const { fresh } = places(report.source ?? '', newDoc.toString());
  const lines = before.lines.map(span => {
    if (span === null) {
      return null;
    }
    const [from, to] = [changes.mapPos(span.from, 1), changes.mapPos(span.to, -1)];
    return to < from || (to === from && span.to > span.from) ? null : { from, to };
  });
  if (fresh || lines.every(span => span === null)) {
    // An edit was undone; or a formatter replaced the whole text, and the same lines were found again.
    return marked(newDoc, report, room);
  }
  const moved = { ...before, fresh, lines, diagnostics: before.diagnostics.map(changes) };
  return { ...moved, onLines: lineMarks(moved, newDoc) };
}

/** The editor's line for a line of its report, or null when it was edited or removed. */
export function lineInEditor(state: EditorState, line: number): number | null {
  const span = state.field(marks, false)?.lines[line - 1] ?? null;
  return span && state.doc.lineAt(span.from).number;
}

/** A diagnostic with its current range. */
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

function marked(document: Text, report: Report | null, room: number): Marks {
  if (report === null) {
    return { ...NONE, room };
  }
  const { fresh, lines: numbers } = places(report.source ?? '', document.toString());
  const lines = numbers.map(line => {
    if (line === null) {
      return null;
    }
    const { from, to, text } = document.line(line);
    return { from: from + (text.length - text.trimStart().length), to };
  });
  const found = diagnosticMarks(report.diagnostics, document, starts(document, lines));
  const now = { ...NONE, report, fresh, lines, diagnostics: Decoration.set(found, true), room };
  return { ...now, onLines: lineMarks(now, document) };
}

function lineMarks({ report, lines, room }: Marks, document: Text): DecorationSet {
  const start = starts(document, lines);
  return Decoration.set(
    [...heatMarks(report?.heat ?? null, start), ...valueMarks(report?.probe ?? null, document, start, room)],
    true
  );
}

/** The start of the editor's line for a line of the report. */
type Start = (line: number) => number | null;

function starts(document: Text, spans: (Span | null)[]): Start {
  return line => {
    const span = spans[line - 1] ?? null;
    return span && document.lineAt(span.from).from;
  };
}

function heatMarks(heat: Heat | null, start: Start): Range<Decoration>[] {
  const levels = new Map<number, number>(); // one mark per line, even if a report names it twice
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
      to = line.to; // an empty range: extended to the end of the line
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

function valueMarks(probe: Probe | null, document: Text, start: Start, room: number): Range<Decoration>[] {
  const texts = new Map<number, { brief: string; text: string }[]>();
  for (const { line, brief, text } of probe?.values ?? []) {
    const from = start(line);
    if (from !== null) {
      texts.set(from, [...(texts.get(from) ?? []), { brief: oneLine(brief), text: oneLine(text) }]);
    }
  }
  return Array.from(texts, ([from, parts]) => {
    const { text, to } = document.lineAt(from);
    const [whole, brief] = [parts.map(each => each.text), parts.map(each => each.brief)];
    const widget = new LineEnd(whole.join(BETWEEN), brief.join(BETWEEN), room - countColumn(text, TAB));
    return Decoration.widget({ widget, side: 1 }).range(to);
  });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ');
}
