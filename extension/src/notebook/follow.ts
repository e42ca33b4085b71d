/** Keeps the marks of an editor up to date with the outputs of its cell. */
import type { ICodeCellModel } from '@jupyterlab/cells';
import type { Extension } from '@codemirror/state';
import { ViewPlugin } from '@codemirror/view';
import { marks, showReport } from '../editor/marks.ts';
import { reportIn } from './cells.ts';

/**
 * Observe the outputs of the cell model of an editor: those of a run, those that a scrubber replaces, and
 * those of a saved notebook.
 */
export function followOutputs(model: ICodeCellModel): Extension {
  const outputs = model.outputs; // kept: a disposed model has no outputs
  return ViewPlugin.define(view => {
    let frame: number | null = null;
    const read = () => {
      frame = null;
      const report = reportIn(outputs);
      if (report !== view.state.field(marks).report) {
        view.dispatch({ effects: showReport.of(report) });
      }
    };
    // A run clears the outputs and adds new ones, message by message: update once per animation frame.
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
