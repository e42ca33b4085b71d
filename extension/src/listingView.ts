/** A listing that was made from the cell: the adjoint, the IR, machine code. Its lines lead to the cell's. */
import { Compartment, EditorState } from '@codemirror/state';
import type { Extension } from '@codemirror/state';
import { EditorView, gutter, GutterMarker, keymap, lineNumbers } from '@codemirror/view';
import { jupyterTheme } from '@jupyterlab/codemirror';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { html } from './dom.ts';
import type { Listing } from './report.ts';
import { visible } from './text.ts';

export interface ListingActions {
  /** The pointer is at a line that was made from this line of the cell, or at none. */
  point: (line: number | null) => void;
  reveal: (line: number) => void;
}

/** The line of the cell, beside a line that was made from it. */
class CellLine extends GutterMarker {
  private readonly line: number;

  constructor(line: number) {
    super();
    this.line = line;
  }

  override eq(other: CellLine): boolean {
    return this.line === other.line;
  }

  override toDOM(): Node {
    return document.createTextNode(String(this.line));
  }
}

/** End the editors in an element: each listens to the window as long as it is not told to stop. */
export function destroyEditors(element: Element | undefined): void {
  for (const dom of element?.querySelectorAll<HTMLElement>('.cm-editor') ?? []) {
    EditorView.findFromDOM(dom)?.destroy();
  }
}

/** Draw a listing; `languages` colours it if it can. */
export function listingView(
  listing: Listing,
  languages: IEditorLanguageRegistry,
  actions: ListingActions
): HTMLElement {
  const hint =
    'On the left, the line of the cell that a line comes from: click it, or press Enter, to go there.';
  const leads = listing.lines.some(line => line !== null);
  const element = html(
    'div',
    { class: 'dsim-listing' },
    leads ? html('p', { class: 'dsim-hint' }, hint) : null
  );
  const language = new Compartment();
  const extensions = [base(listing, actions), language.of([])];
  const view = new EditorView({
    parent: element,
    state: EditorState.create({ doc: visible(listing.text), extensions })
  });
  const colour = async () => {
    const found = await languages.getLanguage(listing.language).catch(() => null); // without, it stays black and white
    if (found?.support) {
      view.dispatch({ effects: language.reconfigure(found.support) });
    }
  };
  void colour();
  return element;
}

function base(listing: Listing, actions: ListingActions): Extension {
  const origin = (view: EditorView, position: number) =>
    listing.lines[view.state.doc.lineAt(position).number - 1] ?? null;
  let pointed: number | null = null;
  const point = (line: number | null) => {
    if (line !== pointed) {
      pointed = line;
      actions.point(line);
    }
  };
  const reveal = (line: number | null) => {
    if (line !== null) {
      actions.reveal(line);
    }
    return line !== null;
  };
  const below = (view: EditorView, event: MouseEvent) =>
    origin(view, view.lineBlockAtHeight(event.clientY - view.documentTop).from);
  return [
    EditorState.readOnly.of(true),
    EditorView.contentAttributes.of({
      'aria-label': `${listing.name} of the kernel`,
      'aria-readonly': 'true'
    }),
    jupyterTheme,
    keymap.of([{ key: 'Enter', run: view => reveal(origin(view, view.state.selection.main.head)) }]),
    gutter({
      class: 'dsim-origin',
      lineMarker: (view, block) => {
        const line = origin(view, block.from);
        return line === null ? null : new CellLine(line);
      }
    }),
    lineNumbers(),
    EditorView.domEventHandlers({
      mousemove: (event, view) => point(below(view, event)),
      mouseleave: () => point(null),
      // A drag selects text to copy; a click goes to the cell.
      click: (event, view) => void (view.state.selection.main.empty && reveal(below(view, event)))
    })
  ];
}
