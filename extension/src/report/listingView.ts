/** A listing generated from a kernel: the adjoint, the IR, machine code. Its lines link to the user's. */
import { Compartment, EditorState } from '@codemirror/state';
import type { Extension } from '@codemirror/state';
import { EditorView, gutter, GutterMarker, keymap, lineNumbers } from '@codemirror/view';
import { jupyterTheme } from '@jupyterlab/codemirror';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { Listing, Report } from '../model/report.ts';
import { html } from '../page/dom.ts';
import { visible } from '../page/text.ts';

/** A line of the user's: the index of its origin in the report, and its number there. */
export interface PersonsLine {
  origin: number;
  line: number;
}

export interface ListingActions {
  /** Called when the pointer enters a line generated from this one, or leaves. */
  point: (line: PersonsLine | null) => void;
  reveal: (line: PersonsLine) => void;
}

/** The user's line number, in the margin of a line generated from it. */
class Source extends GutterMarker {
  private readonly name: string;
  private readonly code: string;

  constructor(name: string, code: string) {
    super();
    this.name = name;
    this.code = code;
  }

  override eq(other: Source): boolean {
    return this.name === other.name && this.code === other.code;
  }

  override toDOM(): Node {
    return html('span', { title: this.code }, this.name);
  }
}

/** Destroy the editors in an element, which listen to the window until destroyed. */
export function destroyEditors(element: Element | undefined): void {
  for (const dom of element?.querySelectorAll<HTMLElement>('.cm-editor') ?? []) {
    EditorView.findFromDOM(dom)?.destroy();
  }
}

/** Draw a listing, with syntax colours if `languages` has its language. */
export function listingView(
  listing: Listing,
  report: Pick<Report, 'source' | 'origins'>,
  languages: IEditorLanguageRegistry,
  actions: ListingActions
): HTMLElement {
  const main = mainOrigin(listing);
  const cell = main === null ? '' : (report.origins[main]?.name ?? '');
  const hint = `On the left, lines of ${cell}: click one, or press Enter, to go to where a line comes from.`;
  const element = html(
    'div',
    { class: 'dsim-listing' },
    main === null ? null : html('p', { class: 'dsim-hint' }, hint)
  );
  const language = new Compartment();
  const extensions = [base(listing, report, main, actions), language.of([])];
  const view = new EditorView({
    parent: element,
    state: EditorState.create({ doc: visible(listing.text), extensions })
  });
  const colour = async () => {
    const found = await languages.getLanguage(listing.language).catch(() => null); // without it, no colours
    if (found?.support) {
      view.dispatch({ effects: language.reconfigure(found.support) });
    }
  };
  void colour();
  return element;
}

/** The origin of most lines of a listing: numbers in the margin without a name refer to it. */
function mainOrigin({ origins }: Listing): number | null {
  const counts = new Map<number, number>();
  for (const origin of origins) {
    if (origin !== null) {
      counts.set(origin, (counts.get(origin) ?? 0) + 1);
    }
  }
  const found = Array.from(counts).sort(([a, m], [b, n]) => n - m || a - b);
  return found[0]?.[0] ?? null;
}

function base(
  listing: Listing,
  report: Pick<Report, 'source' | 'origins'>,
  main: number | null,
  actions: ListingActions
): Extension {
  const source = (view: EditorView, position: number): PersonsLine | null => {
    const at = view.state.doc.lineAt(position).number - 1;
    const [origin, line] = [listing.origins[at] ?? null, listing.lines[at] ?? null];
    return origin === null || line === null ? null : { origin, line };
  };
  const here = report.source?.split('\n') ?? [];
  const marker = ({ origin, line }: PersonsLine) => {
    const there = report.origins[origin];
    const name = origin === main ? '' : `${there?.name.replace(/^cell /, '') ?? ''}:`;
    const code = there?.here ? here[line - 1] : there?.lines.find(each => each.line === line)?.text;
    return new Source(`${name}${line}`, code?.trim() ?? '');
  };
  let pointed: PersonsLine | null = null;
  const point = (line: PersonsLine | null) => {
    if (line?.line !== pointed?.line || line?.origin !== pointed?.origin) {
      pointed = line;
      actions.point(line);
    }
  };
  const reveal = (line: PersonsLine | null) => {
    if (line !== null) {
      actions.reveal(line);
    }
    return line !== null;
  };
  const below = (view: EditorView, event: MouseEvent) =>
    source(view, view.lineBlockAtHeight(event.clientY - view.documentTop).from);
  return [
    EditorState.readOnly.of(true),
    EditorView.contentAttributes.of({
      'aria-label': `${listing.name} of ${listing.kernel}`,
      'aria-readonly': 'true'
    }),
    jupyterTheme,
    keymap.of([{ key: 'Enter', run: view => reveal(source(view, view.state.selection.main.head)) }]),
    gutter({
      class: 'dsim-origin',
      lineMarker: (view, block) => {
        const line = source(view, block.from);
        return line === null ? null : marker(line);
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
