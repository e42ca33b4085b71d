/** Keyboard handling of the focused element in a report, in the sliders below it, or in an explorer. */

const PLACES = '.dsim-report, .dsim-hover, .dsim-scrubber, .dsim-explorer';
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
/** Lumino's keyboard shortcuts ignore elements with this attribute. */
const PASS = 'data-lm-suppress-shortcuts';

/**
 * Reserve the keys of buttons, tabs and sliders for the focused element: a notebook in command mode would
 * handle Enter and the arrow keys itself.
 *
 * With modifiers they remain the notebook's, as do all other keys: saving and running work
 * inside a report as elsewhere.
 */
export function watchFocus(): void {
  // JupyterLab listens on the document in the capturing phase, which only the window precedes.
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
