/** Creates elements. Their content is text only: no part of a report is parsed as HTML. */
import { directions, visible } from './text.ts';

type Child = Node | string | null;

interface Attributes {
  class?: string;
  id?: string;
  title?: string;
  role?: string;
  tabindex?: number;
  scope?: string;
  type?: string;
  href?: string;
  target?: string;
  rel?: string;
  open?: boolean;
  hidden?: boolean;
  style?: string;
  [aria: `aria-${string}`]: string;
  [data: `data-${string}`]: string;
}

/** An HTML element; strings among the children become text. */
export function html<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(name), attributes, children);
}

/** An SVG element; strings among the children become text. */
export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number> = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function filled<E extends Element>(element: E, attributes: object, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) {
      element.setAttribute(name, '');
    } else if (value !== false && value !== undefined) {
      element.setAttribute(name, visible(String(value)));
    }
  }
  const bidirectional = element instanceof HTMLElement; // SVG texts are names only
  for (const child of children.filter(each => each !== null)) {
    if (typeof child !== 'string') {
      element.append(child);
    } else if (bidirectional) {
      element.append(...isolated(visible(child)));
    } else {
      element.append(visible(child));
    }
  }
  return element;
}

/** Text isolated for the bidirectional algorithm: right-to-left parts do not reorder the text around it. */
function isolated(text: string): (Node | string)[] {
  const pieces = directions(text).map((piece, index) => {
    if (index % 2 === 0) {
      return piece;
    }
    const word = document.createElement('bdi');
    word.textContent = piece;
    return word;
  });
  return pieces.filter(piece => piece !== '');
}

/** A table with a caption that screen readers announce. */
export function table(
  caption: string,
  heads: string[],
  rows: Child[][],
  numeric: number[] = []
): HTMLTableElement {
  const kind = (column: number) => (numeric.includes(column) ? { class: 'dsim-number' } : {});
  const cells = (row: Child[]) =>
    row.map((cell, column) =>
      column === 0 ? html('th', { scope: 'row', ...kind(column) }, cell) : html('td', kind(column), cell)
    );
  return html(
    'table',
    { class: 'dsim-table' },
    html('caption', { class: 'dsim-for-readers' }, caption),
    html(
      'thead',
      {},
      html('tr', {}, ...heads.map((head, column) => html('th', { scope: 'col', ...kind(column) }, head)))
    ),
    html('tbody', {}, ...rows.map(row => html('tr', {}, ...cells(row))))
  );
}

/** A button with the look of a link, for navigation. */
export function link(text: string, title: string, go: () => void): HTMLButtonElement {
  const button = html('button', { class: 'dsim-link', type: 'button', title }, text);
  button.addEventListener('click', go);
  return button;
}
