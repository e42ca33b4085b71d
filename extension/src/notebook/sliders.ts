/** The sliders below a report: gives them accessible names, and replaces those that are not live. */
import type { CodeCell } from '@jupyterlab/cells';
import { html } from '../page/dom.ts';
import { isCopy, sessionOf } from './cells.ts';
import { ENDS } from './process.ts';

const WIDGET = 'application/vnd.jupyter.widget-view+json';
const INSTEAD = 'dsim-instead';
/** A row whose session has ended: ipywidgets' class after a restart, and the class set here. */
const ENDED = '.dsim-scrubber.jupyter-widgets-disconnected, .dsim-scrubber.dsim-ended';

/**
 * Watch the widgets beside an output of a cell; returns a function that stops it.
 *
 * Widgets that are not live show their plain form, which tells how to get live ones: in a notebook that was opened
 * again, after a restart, in a copy of a cell. Otherwise the user would see that a model was not found, or that a
 * widget is loading, forever; or would move sliders without effect, or those of another cell.
 */
export function attendSliders(output: Element, cell: CodeCell): () => void {
  const area = output.closest('.jp-OutputArea');
  const session = sessionOf(output);
  if (area === null) {
    return () => undefined;
  }
  const attend = () => attendIn(area, cell);
  const end = () => area.querySelectorAll('.dsim-scrubber').forEach(row => row.classList.add('dsim-ended'));
  const endIf = (_: unknown, status: string) => {
    if (ENDS.has(status)) {
      end();
    }
  };
  const endOld = (_: unknown, { oldValue }: { oldValue: unknown }) => {
    if (oldValue !== null) {
      end();
    }
  };
  session?.statusChanged.connect(endIf);
  session?.kernelChanged.connect(endOld);
  const observer = new MutationObserver(attend);
  const attributeFilter = ['class', 'disabled'];
  observer.observe(area, { childList: true, subtree: true, attributes: true, attributeFilter });
  attend();
  return () => {
    session?.statusChanged.disconnect(endIf);
    session?.kernelChanged.disconnect(endOld);
    observer.disconnect();
  };
}

function attendIn(area: Element, cell: CodeCell): void {
  const { outputs } = cell.model;
  if (cell.isDisposed) {
    return;
  }
  area.querySelectorAll(':scope > .jp-OutputArea-child').forEach((child, index) => {
    const data = index < outputs.length ? outputs.get(index).data : {};
    const plain = data['text/plain'];
    const drawn = child.querySelector('.jp-OutputArea-output');
    if (WIDGET in data && typeof plain === 'string' && drawn !== null) {
      explain(drawn, isCopy(cell) || drawn.querySelector(ENDED) !== null, plain);
    }
  });
  area.querySelectorAll('.dsim-scrubber').forEach(nameParts);
}

/** Show the plain form of a widget that is not drawn or not live. */
function explain(drawn: Element, dead: boolean, plain: string): void {
  const instead = drawn.querySelector(`:scope > .${INSTEAD}`);
  const empty = drawn.childElementCount === (instead === null ? 0 : 1);
  if (!dead && !empty) {
    instead?.remove();
  } else if (instead === null) {
    const said = html('p', { class: INSTEAD }, plain);
    if (empty) {
      drawn.replaceChildren(said);
    } else {
      drawn.append(said);
    }
  }
}

/** Sets accessible names: ipywidgets draws a label beside each slider without associating it. */
function nameParts(scrubber: Element): void {
  for (const handle of scrubber.querySelectorAll('[role=slider]')) {
    const name = handle.closest('.widget-slider')?.querySelector('.widget-label')?.textContent;
    attribute(handle, 'aria-label', name ? `iteration, ${name}` : 'iteration');
    attribute(handle, 'aria-disabled', String(handle.closest('[disabled]') !== null));
  }
  const said = scrubber.querySelector(':scope > .widget-label:last-child');
  if (said !== null) {
    attribute(said, 'role', 'status');
  }
}

function attribute(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
}
