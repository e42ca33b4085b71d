/** Navigation from an output to lines in its cell's editor: selects them, scrolls to them, lets them flash. */
import { EditorSelection, StateEffect, StateField } from '@codemirror/state';
import type { Extension } from '@codemirror/state';
import type { CodeCell } from '@jupyterlab/cells';
import { Decoration, EditorView } from '@codemirror/view';
import type { DecorationSet } from '@codemirror/view';
import { lineInEditor, marks } from '../editor/marks.ts';
import { cellOfOrigin, editorIn, editorToSee } from './cells.ts';
import type { Lines } from './cells.ts';

/** The duration of the flash, the same as that of the style sheet's animation. */
const FLASH_MS = 1200;

interface Emphasis {
  kind: 'dsim-flash' | 'dsim-linked';
  /** Lines of the editor, from 1, the end inclusive. */
  first: number;
  last: number;
}

const emphasize = StateEffect.define<Emphasis | null>();

const emphasis = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(before, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(emphasize)) {
        const { value } = effect;
        if (value === null) {
          return Decoration.none;
        }
        const mark = Decoration.line({ class: value.kind });
        const lines = Array.from({ length: value.last - value.first + 1 }, (_, index) => value.first + index);
        return Decoration.set(lines.map(line => mark.range(transaction.state.doc.line(line).from)));
      }
    }
    return before.map(transaction.changes);
  },
  provide: field => EditorView.decorations.from(field)
});

/** Show lines of a cell anywhere in the notebook; returns whether the lines exist. */
export async function revealInCell(cell: CodeCell | null, line: number, endLine: number): Promise<boolean> {
  const view = cell && (await editorToSee(cell));
  return view !== null && revealLines(view, line, endLine);
}

/** Show lines of an origin of a report in their cell; returns whether there is one. */
export async function revealPlace(
  element: Element,
  report: Lines,
  origin: number | null,
  line: number,
  endLine: number = line
): Promise<boolean> {
  const cell = origin === null ? null : cellOfOrigin(element, report, origin, line);
  return revealInCell(cell, line, endLine);
}

/** Highlight a line of an origin while the pointer is at code generated from it; returns a function that ends it. */
export function pointAtPlace(element: Element, report: Lines, origin: number, line: number): () => void {
  const view = editorIn(cellOfOrigin(element, report, origin, line));
  if (view === null) {
    return () => undefined;
  }
  pointAt(view, line);
  return () => clear(view);
}

/** The editor's lines for lines of its report; without a report, the same numbers. */
function located(view: EditorView, line: number, endLine: number): { first: number; last: number } | null {
  const report = view.state.field(marks, false)?.report ?? null;
  const find = (wanted: number) =>
    report === null ? (wanted <= view.state.doc.lines ? wanted : null) : lineInEditor(view.state, wanted);
  const first = find(line);
  return first === null ? null : { first, last: Math.max(first, find(endLine) ?? first) };
}

/** Select lines of the report, scroll to them, and let them flash; returns whether they still exist. */
export function revealLines(view: EditorView, line: number, endLine: number = line): boolean {
  const found = located(view, line, endLine);
  if (found === null) {
    return false;
  }
  const { doc } = view.state;
  const [from, to] = [doc.line(found.first).from, doc.line(found.last).to];
  view.dispatch({
    // The cursor is at the beginning, from where screen readers read the lines.
    selection: found.first === found.last ? EditorSelection.cursor(from) : EditorSelection.range(to, from),
    effects: [
      EditorView.scrollIntoView(EditorSelection.range(from, to), { y: 'nearest', yMargin: 40 }),
      emphasize.of({ kind: 'dsim-flash', ...found })
    ]
  });
  view.focus();
  setTimeout(() => clear(view), FLASH_MS);
  return true;
}

function pointAt(view: EditorView, line: number): void {
  const found = located(view, line, line);
  view.dispatch({ effects: emphasize.of(found && { kind: 'dsim-linked', ...found }) });
}

function clear(view: EditorView): void {
  if (view.dom.isConnected) {
    view.dispatch({ effects: emphasize.of(null) });
  }
}

/** The editor state that the functions above use. */
export const revealExtension: Extension = emphasis;
