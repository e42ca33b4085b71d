/** What has the focus in a report, or in the sliders below it: its keys are its own. */

const PLACES = '.dsim-report, .dsim-hover, .dsim-scrubber';
const TAKEN = new Set([
  'Enter',
  ' ',
  'ArrowLeft',
  'ArrowRight',
  'ArrowUp',
  'ArrowDown',
  'Home',
  'End',
  'PageUp',
  'PageDown'
]);
/** Lumino, which finds the commands for keys, passes over an element that has this. */
const PASS = 'data-lm-suppress-shortcuts';

/**
 * Let what has the focus there have the keys that buttons, tabs and sliders use: a notebook in command mode would
 * take Enter and the arrows for its own.
 *
 * With Control, Shift and the like they stay the notebook's, and so does every other key: saving and running work
 * from within a report as from everywhere.
 */
export function watchFocus(): void {
  // JupyterLab listens on the document, in the capturing phase; only the window comes before that.
  window.addEventListener('keydown', keepKey, { capture: true });
}

function keepKey(event: KeyboardEvent): void {
  const { target } = event;
  const plain = !(event.altKey || event.ctrlKey || event.metaKey || event.shiftKey);
  if (plain && TAKEN.has(event.key) && target instanceof HTMLElement && target.closest(PLACES)) {
    target.setAttribute(PASS, '');
    setTimeout(() => target.removeAttribute(PASS));
  }
}
