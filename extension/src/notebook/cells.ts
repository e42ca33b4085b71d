/** The cells of the notebook of an output, including those that are not on the page, and their editors. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { CodeCell, ICodeCellModel } from '@jupyterlab/cells';
import { EditorView } from '@codemirror/view';
import { lineInEditor, marks } from '../editor/marks.ts';
import { places } from '../editor/source.ts';
import { markingReport, readReport } from '../model/report.ts';
import type { Report } from '../model/report.ts';
import { visible } from '../page/text.ts';

type Shell = JupyterFrontEnd['shell'];
type Outputs = ICodeCellModel['outputs'];

/** A display message of the kernel. */
export interface Message {
  /** The session identifies the process that sent it: a restart of the kernel changes it. */
  header: { msg_type: string; session: string };
  content: { data?: Record<string, unknown>; metadata?: Record<string, unknown>; execution_state?: string };
}

interface Signal<T> {
  connect: (hear: (sender: unknown, told: T) => void) => boolean;
  disconnect: (hear: (sender: unknown, told: T) => void) => boolean;
}

/** The used part of a notebook's session. */
export interface Session {
  session: { kernel: { requestKernelInfo: () => Promise<{ header: { session: string } } | undefined> } | null } | null;
  iopubMessage: Signal<Message>;
  /** The kernel's status: `idle`, `restarting`, … */
  statusChanged: Signal<string>;
  kernelChanged: Signal<{ oldValue: unknown }>;
}

interface WithSession {
  sessionContext?: Session;
}

/** The used part of a notebook's widget. */
interface Notebook {
  node: HTMLElement;
  widgets: readonly CodeCell[];
  activeCellIndex?: number;
  scrollToItem?: (index: number, align?: string) => Promise<void>;
}

/** A console has its executed inputs as cells, too. */
interface Console {
  node: HTMLElement;
  cells: Iterable<CodeCell>;
}

let shell: Shell | null = null;

/** Set the shell in which notebooks are searched. */
export function lookIn(given: Shell): void {
  shell = given;
}

/** The report that marks the editor of a cell with these outputs. */
export function reportIn(outputs: Outputs): Report | null {
  const found: (Report | null)[] = [];
  for (let index = 0; index < outputs.length; index++) {
    found.push(readReport(outputs.get(index).data));
  }
  return markingReport(found);
}

function notebooks(): Notebook[] {
  return Array.from(shell?.widgets('main') ?? []).flatMap(widget => {
    const { content, console } = widget as { content?: Notebook; console?: Console };
    if (console !== undefined) {
      return [{ node: console.node, widgets: Array.from(console.cells) }];
    }
    return content !== undefined && Array.isArray(content.widgets) ? [content] : [];
  });
}

function cellsAround(output: Element): CodeCell[] {
  const cells = notebooks().find(({ node }) => node.contains(output))?.widgets ?? [];
  return cells.filter(cell => cell.model.type === 'code');
}

/** The cell of an output; null outside a notebook, as in a new view of an output. */
export function cellOf(output: Element): CodeCell | null {
  return cellsAround(output).find(({ node }) => node.contains(output)) ?? null;
}

/** The number of retries in searching or revealing a cell, and their delay in milliseconds. */
const TRIES = 40;
const AGAIN = 250;
/** The time between two frames of the page, about. */
const FRAME = 16;

/**
 * Run an action with the cell of an output once there is one: a notebook draws outputs before it is attached.
 *
 * The action returns a function that ends it, and so does this.
 */
export function whenPlaced(output: Element, act: (cell: CodeCell) => () => void): () => void {
  let left = TRIES;
  let timer: number | undefined;
  let end = () => undefined as void;
  const look = () => {
    const cell = cellOf(output);
    if (cell !== null) {
      end = act(cell);
    } else if (left-- > 0) {
      timer = setTimeout(look, AGAIN);
    }
  };
  look();
  return () => {
    clearTimeout(timer);
    end();
  };
}

/** The session of an output's notebook. */
export function sessionOf(output: Element): Session | undefined {
  for (const widget of shell?.widgets('main') ?? []) {
    if (widget.node.contains(output)) {
      const { console, sessionContext } = widget as { console?: WithSession } & WithSession;
      return (console ?? { sessionContext }).sessionContext;
    }
  }
  return undefined;
}

/** The cell that first received an output, if the kernel has sent it. */
export function cellNamed(metadata: Metadata | undefined): string | null {
  return named(metadata, 'cell');
}

/** The kernel process that created an output, identified by the session of its messages. */
export function processNamed(metadata: Metadata | undefined): string | null {
  return named(metadata, 'session');
}

type Metadata = Readonly<Record<string, unknown>>;

function named(metadata: Metadata | undefined, key: string): string | null {
  const names = metadata?.dsim;
  const found = typeof names === 'object' && names !== null ? (names as Metadata)[key] : null;
  return typeof found === 'string' ? found : null;
}

/** Whether the outputs of a cell are copied from another one. */
export function isCopy({ model }: CodeCell): boolean {
  for (let index = 0; index < model.outputs.length; index++) {
    const cell = cellNamed(model.outputs.get(index).metadata);
    if (cell !== null && cell !== model.id) {
      return true;
    }
  }
  return false;
}

/**
 * The cell that defines a kernel, in the notebook of an output.
 *
 * The cell with the report of the kernel, or else the one cell whose text defines it; null when there is none.
 */
export function cellOfKernel(output: Element, kernel: string): CodeCell | null {
  const cells = cellsAround(output);
  const reported = cells.findLast(({ model }) => reportIn(model.outputs)?.kernel === kernel);
  if (reported) {
    return reported;
  }
  if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(kernel)) {
    return null;
  }
  const definition = new RegExp(String.raw`^(?:%%kernel|\s*def)\s+${kernel}(?![\p{L}\p{N}_])`, 'mu');
  const defining = cells.filter(({ model }) => definition.test(model.sharedModel.getSource()));
  return defining.length === 1 ? (defining[0] ?? null) : null;
}

/** The part of a report that locates its lines. */
export type Lines = Pick<Report, 'kernel' | 'source' | 'origins'>;

/**
 * The cell with a line of an origin of a report, in the notebook of an element.
 *
 * Another cell is identified by its text: it contains this line and most others that the report names, each where the
 * report says. So an edited cell is found, and one that is merely similar is not.
 */
export function cellOfOrigin(element: Element, report: Lines, index: number, line: number): CodeCell | null {
  const origin = report.origins[index];
  if (origin === undefined) {
    return null;
  }
  if (origin.here) {
    return cellOf(element);
  }
  const found = cellsAround(element)
    .map(cell => ({ cell, held: origin.lines.filter(each => holds(cell, each.line, each.text)) }))
    .filter(({ held }) => held.some(each => each.line === line) && 2 * held.length > origin.lines.length);
  const most = Math.max(...found.map(({ held }) => held.length));
  return found.findLast(({ held }) => held.length === most)?.cell ?? null;
}

/** Whether a cell has this text at this line of its executed source. */
function holds(cell: CodeCell, line: number, text: string): boolean {
  const source = cell.model.sharedModel.getSource();
  const at = lineNow(cell, source, line);
  const there = at === null ? undefined : source.split('\n')[at - 1];
  return there !== undefined && visible(there).trimEnd() === visible(text).trimEnd();
}

/** The current line for a line of the executed source; without a report, the same number. */
function lineNow(cell: CodeCell, source: string, line: number): number | null {
  const report = reportIn(cell.model.outputs);
  if (report === null) {
    return line;
  }
  const view = editorIn(cell);
  return view?.state.field(marks, false)?.report
    ? lineInEditor(view.state, line)
    : (places(report.source ?? '', source).lines[line - 1] ?? null);
}

/** The editor of a cell if it is on the page. */
export function editorIn(cell: { node: Element } | null): EditorView | null {
  const editor = cell?.node.querySelector<HTMLElement>('.jp-InputArea-editor .cm-editor');
  return editor ? EditorView.findFromDOM(editor) : null;
}

/**
 * The editor of a cell, created and made visible if needed.
 *
 * A notebook draws the cells that are scrolled into view and hides the others; the user can hide a cell's code. Others
 * may end a scroll, and the notebook does as the cell with the focus leaves the page: then it is tried again.
 */
export async function editorToSee(cell: CodeCell): Promise<EditorView | null> {
  if (cell.inputHidden) {
    cell.inputHidden = false;
  }
  const notebook = notebooks().find(({ widgets }) => widgets.includes(cell));
  for (let left = TRIES; left > 0 && !isDrawn(cell); left--) {
    // Neither a scroll that was ended nor a cell that stays out of sight need ever settle.
    await Promise.race([scrollTo(notebook, cell), later(AGAIN)]);
    await drawn(cell);
  }
  return editorIn(cell);
}

/** Whether the editor of a cell has a place on the page: a hidden cell may keep its editor. */
function isDrawn(cell: CodeCell): boolean {
  return editorIn(cell) !== null && cell.node.getClientRects().length > 0;
}

/** Wait until a cell is drawn, as long as a try takes at most. */
async function drawn(cell: CodeCell): Promise<void> {
  for (const end = Date.now() + AGAIN; !isDrawn(cell) && Date.now() < end; ) {
    await later(FRAME);
  }
}

function later(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}

/** Scroll to a cell until it is on the page, or another scroll was requested meanwhile. */
async function scrollTo(notebook: Notebook | undefined, cell: CodeCell): Promise<void> {
  if (notebook?.scrollToItem === undefined) {
    return;
  }
  const index = notebook.widgets.indexOf(cell);
  // As the cell with the focus leaves the page, the notebook scrolls to its active cell.
  notebook.activeCellIndex = index;
  try {
    await notebook.scrollToItem(index, 'center');
  } catch (reason) {
    if (typeof reason !== 'string') {
      throw reason; // a scroll that another one ends is rejected with a text
    }
  }
}
