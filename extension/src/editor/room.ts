/** Passes the editor's width in columns to its marks. */
import { ViewPlugin } from '@codemirror/view';
import type { EditorView } from '@codemirror/view';
import { makeRoom, marks } from './marks.ts';

/** Measures when the editor's size may have changed; an editor without size, in a hidden cell, keeps its width. */
export const room = ViewPlugin.define(view => {
  const measure = () => view.requestMeasure({ key: room, read: columns, write: tell });
  measure();
  return {
    update({ geometryChanged }) {
      if (geometryChanged) {
        measure();
      }
    }
  };
});

function columns(view: EditorView): number {
  const { left, right } = view.scrollDOM.getBoundingClientRect();
  const gutters = view.contentDOM.offsetLeft;
  return Math.floor((right - left - gutters) / view.defaultCharacterWidth);
}

function tell(found: number, view: EditorView): void {
  const known = view.state.field(marks).room;
  if (found > 0 && found !== known) {
    // The measure phase must not change the editor; when the change runs, the editor may have been closed.
    setTimeout(() => view.dom.isConnected && view.dispatch({ effects: makeRoom.of(found) }));
  }
}
