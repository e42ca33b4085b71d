/** From what is under a cell to the lines in its editor: select them, bring them into sight, let them flash. */
import { EditorSelection, StateEffect, StateField } from '@codemirror/state';
import type { Extension } from '@codemirror/state';
import { Decoration, EditorView } from '@codemirror/view';
import type { DecorationSet } from '@codemirror/view';
import { lineInEditor, marks } from './marks.ts';
import type { Report } from './report.ts';
import { visible } from './text.ts';

/** How long lines flash; the style sheet's animation takes as long. */
const FLASH_MS = 1200;

interface Emphasis {
  kind: 'dsim-flash' | 'dsim-linked';
  /** Lines of the editor, from 1, the last one included. */
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

/** The editor of the cell that an output belongs to; null outside of a notebook, as in a new view of an output. */
export function editorAbove(output: Element): EditorView | null {
  return editorIn(output.closest('.jp-CodeCell'));
}

function editorIn(cell: Element | null): EditorView | null {
  const editor = cell?.querySelector<HTMLElement>('.jp-InputArea-editor .cm-editor');
  return editor ? EditorView.findFromDOM(editor) : null;
}

/**
 * The editor of the cell that defines a kernel, looked for in the notebook that an output belongs to.
 *
 * The cell with the report of the kernel, or else the one cell whose text defines it; null when there is none.
 */
export function editorOfKernel(output: Element, kernel: string): EditorView | null {
  const cells = output.closest('.jp-Notebook')?.querySelectorAll('.jp-CodeCell') ?? [];
  const editors = Array.from(cells, editorIn).filter(view => view !== null);
  const reported = editors.findLast(view => view.state.field(marks, false)?.report?.kernel === kernel);
  if (reported) {
    return reported;
  }
  if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(kernel)) {
    return null;
  }
  const definition = new RegExp(String.raw`^(?:%%kernel|\s*def)\s+${kernel}(?![\p{L}\p{N}_])`, 'mu');
  const defining = editors.filter(view => definition.test(view.state.doc.toString()));
  return defining.length === 1 ? (defining[0] ?? null) : null;
}

/** A report, as far as it says where its lines are. */
type Lines = Pick<Report, 'kernel' | 'source' | 'origins'>;

/**
 * The editor with a line of an origin of a report, looked for in the notebook that an element belongs to.
 *
 * Another cell is known by its text: it holds this line and most of the others that the report names, each where the
 * report says. So it may have been edited since, but one that merely looks like it is not taken for it.
 */
function editorOfOrigin(element: Element, report: Lines, index: number, line: number): EditorView | null {
  const origin = report.origins[index];
  if (origin === undefined) {
    return null;
  }
  if (origin.here) {
    return editorAbove(element);
  }
  const cells = element.closest('.jp-Notebook')?.querySelectorAll('.jp-CodeCell') ?? [];
  const found = Array.from(cells, editorIn)
    .filter(view => view !== null)
    .map(view => ({ view, held: origin.lines.filter(each => holds(view, each.line, each.text)) }))
    .filter(({ held }) => held.some(each => each.line === line) && 2 * held.length > origin.lines.length);
  const most = Math.max(...found.map(({ held }) => held.length));
  return found.findLast(({ held }) => held.length === most)?.view ?? null;
}

/** Whether an editor has this text at this line of what ran. */
function holds(view: EditorView, line: number, text: string): boolean {
  const at = located(view, line, line);
  return at !== null && visible(view.state.doc.line(at.first).text).trimEnd() === visible(text).trimEnd();
}

/** Show lines of an origin of a report in the cell that they are in; says whether there is one. */
export function revealPlace(
  element: Element,
  report: Lines,
  origin: number | null,
  line: number,
  endLine: number = line
): boolean {
  const view = origin === null ? null : editorOfOrigin(element, report, origin, line);
  return view !== null && revealLines(view, line, endLine);
}

/** Point at a line of an origin of a report, while the pointer is at what was made from it; returns how to end that. */
export function pointAtPlace(element: Element, report: Lines, origin: number, line: number): () => void {
  const view = editorOfOrigin(element, report, origin, line);
  if (view === null) {
    return () => undefined;
  }
  pointAt(view, line);
  return () => clear(view);
}

/** The editor's lines for lines of its report; without a report, lines count in the editor itself. */
function located(view: EditorView, line: number, endLine: number): { first: number; last: number } | null {
  const report = view.state.field(marks, false)?.report ?? null;
  const find = (wanted: number) =>
    report === null ? (wanted <= view.state.doc.lines ? wanted : null) : lineInEditor(view.state, wanted);
  const first = find(line);
  return first === null ? null : { first, last: Math.max(first, find(endLine) ?? first) };
}

/** Select lines of the report, scroll to them, and let them flash; says whether they are still there. */
export function revealLines(view: EditorView, line: number, endLine: number = line): boolean {
  const found = located(view, line, endLine);
  if (found === null) {
    return false;
  }
  const { doc } = view.state;
  const [from, to] = [doc.line(found.first).from, doc.line(found.last).to];
  view.dispatch({
    // The cursor at the beginning: there is where the lines are read from.
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

/** The state that the functions above need in an editor. */
export const revealExtension: Extension = emphasis;
