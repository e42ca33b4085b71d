/** Where a report's sliders are not live, as in a notebook that was opened again: what they say instead. */
import { cellOf } from './cells.ts';
import { visible } from './text.ts';

/** How often, and after how many milliseconds, the cell is looked for again. */
const TRIES = 40;
const PAUSE = 250;
const WIDGET = 'application/vnd.jupyter.widget-view+json';

/**
 * Let the widgets beside an output show their plain form as long as they are not drawn.
 *
 * Without this a person reads that a model was not found, or that a widget is loading, for ever. Returns how to end
 * it.
 */
export function explainSliders(output: Element): () => void {
  const area = output.closest('.jp-OutputArea');
  let left = TRIES;
  const explain = () => {
    const outputs = cellOf(output)?.model.outputs;
    if (outputs === undefined && area !== null && output.isConnected && left-- > 0) {
      setTimeout(explain, PAUSE); // a notebook draws its outputs before it has its place
    }
    area?.querySelectorAll(':scope > .jp-OutputArea-child').forEach((child, index) => {
      const data = outputs !== undefined && index < outputs.length ? outputs.get(index).data : {};
      const plain = data['text/plain'];
      const drawn = child.querySelector('.jp-OutputArea-output');
      if (WIDGET in data && typeof plain === 'string' && drawn !== null && drawn.childElementCount === 0) {
        const said = visible(plain);
        if (drawn.textContent !== said) {
          drawn.textContent = said;
        }
      }
    });
  };
  const observer = new MutationObserver(explain);
  if (area !== null) {
    observer.observe(area, { childList: true, subtree: true });
    explain();
  }
  return () => observer.disconnect();
}
