/** Keeps the marks of an editor up to date with the outputs of its cell. */
import type { ICodeCellModel } from '@jupyterlab/cells';
import type { Extension } from '@codemirror/state';
import { ViewPlugin } from '@codemirror/view';
import { marks, showReport } from '../editor/marks.ts';
import { reportIn } from './cells.ts';

/**
 * Follow the outputs of the cell model that an editor shows: those of a run, those that a scrubber replaces, and
 * those that a saved notebook brings.
 */
export function followOutputs(model: ICodeCellModel): Extension {
  const outputs = model.outputs; // kept: the model has none any more once the cell is disposed of
  return ViewPlugin.define(view => {
    let frame: number | null = null;
    const read = () => {
      frame = null;
      const report = reportIn(outputs);
      if (report !== view.state.field(marks).report) {
        view.dispatch({ effects: showReport.of(report) });
      }
    };
    // A run clears the outputs and brings new ones, message by message: look once before each picture.
    const later = () => {
      frame ??= requestAnimationFrame(read);
    };
    outputs.changed.connect(later);
    later();
    return {
      destroy() {
        if (frame !== null) {
          cancelAnimationFrame(frame);
        }
        outputs.changed.disconnect(later);
      }
    };
  });
}
