/** The cells of the notebook that an output belongs to, also those that are not on the page, and their editors. */
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

/** A message of the kernel's that shows something. */
export interface Message {
  /** The session is that of the process which sent it: after a restart of the kernel it is another one. */
  header: { msg_type: string; session: string };
  content: { data?: Record<string, unknown>; metadata?: Record<string, unknown>; execution_state?: string };
}

interface Signal<T> {
  connect: (hear: (sender: unknown, told: T) => void) => boolean;
  disconnect: (hear: (sender: unknown, told: T) => void) => boolean;
}

/** As much of a notebook's session as is needed here. */
export interface Session {
  session: { kernel: { requestKernelInfo: () => Promise<{ header: { session: string } } | undefined> } | null } | null;
  iopubMessage: Signal<Message>;
  /** What the kernel does: `idle`, `restarting`, … */
  statusChanged: Signal<string>;
  kernelChanged: Signal<{ oldValue: unknown }>;
}

interface WithSession {
  sessionContext?: Session;
}

/** As much of a notebook's widget as is needed here. */
interface Notebook {
  node: HTMLElement;
  widgets: readonly CodeCell[];
  scrollToItem?: (index: number, align?: string) => Promise<void>;
}

/** A console has what was run as cells, too. */
interface Console {
  node: HTMLElement;
  cells: Iterable<CodeCell>;
}

let shell: Shell | null = null;

/** Where notebooks are looked for from now on. */
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

/** The cell that an output belongs to; null outside of a notebook, as in a new view of an output. */
export function cellOf(output: Element): CodeCell | null {
  return cellsAround(output).find(({ node }) => node.contains(output)) ?? null;
}

/** How often, and after how many milliseconds, the cell of an output is looked for again. */
const TRIES = 40;
const AGAIN = 250;

/**
 * Do something with the cell of an output once there is one: a notebook draws outputs before it has its place.
 *
 * What is done returns how to end it, and so does this.
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

/** The session of the notebook that an output belongs to. */
export function sessionOf(output: Element): Session | undefined {
  for (const widget of shell?.widgets('main') ?? []) {
    if (widget.node.contains(output)) {
      const { console, sessionContext } = widget as { console?: WithSession } & WithSession;
      return (console ?? { sessionContext }).sessionContext;
    }
  }
  return undefined;
}

/** The cell that an output came to first, where the kernel has said so. */
export function cellNamed(metadata: Metadata | undefined): string | null {
  return named(metadata, 'cell');
}

/** The process of the kernel that made an output, by the session of its messages. */
export function processNamed(metadata: Metadata | undefined): string | null {
  return named(metadata, 'session');
}

type Metadata = Readonly<Record<string, unknown>>;

function named(metadata: Metadata | undefined, key: string): string | null {
  const names = metadata?.dsim;
  const found = typeof names === 'object' && names !== null ? (names as Metadata)[key] : null;
  return typeof found === 'string' ? found : null;
}

/** Whether the outputs of a cell are copies of another one's. */
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
 * The cell that defines a kernel, looked for in the notebook that an output belongs to.
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

/** A report, as far as it says where its lines are. */
export type Lines = Pick<Report, 'kernel' | 'source' | 'origins'>;

/**
 * The cell with a line of an origin of a report, looked for in the notebook that an element belongs to.
 *
 * Another cell is known by its text: it holds this line and most of the others that the report names, each where the
 * report says. So it may have been edited since, but one that merely looks like it is not taken for it.
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

/** Whether a cell has this text at this line of what ran. */
function holds(cell: CodeCell, line: number, text: string): boolean {
  const source = cell.model.sharedModel.getSource();
  const at = lineNow(cell, source, line);
  const there = at === null ? undefined : source.split('\n')[at - 1];
  return there !== undefined && visible(there).trimEnd() === visible(text).trimEnd();
}

/** Where a line of what ran is now; without a report, lines count in the cell itself. */
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
 * The editor of a cell, made if there is none yet, and to be seen.
 *
 * A notebook makes cells when they come into sight, and may take them off the page when they leave it; a person can
 * hide a cell's code.
 */
export async function editorToSee(cell: CodeCell): Promise<EditorView | null> {
  if (cell.inputHidden) {
    cell.inputHidden = false;
  }
  if (editorIn(cell) === null || !cell.node.isConnected) {
    const notebook = notebooks().find(({ widgets }) => widgets.includes(cell));
    await notebook?.scrollToItem?.(notebook.widgets.indexOf(cell), 'center');
    await cell.ready;
  }
  return editorIn(cell);
}
