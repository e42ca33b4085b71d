/** The plugin of dsim for JupyterLab and Notebook 7. */
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { ICodeCellModel } from '@jupyterlab/cells';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import {
  EditorExtensionRegistry,
  IEditorExtensionRegistry,
  IEditorLanguageRegistry
} from '@jupyterlab/codemirror';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { diagnosticsByHand } from './diagnostics/hover.ts';
import { marks } from './editor/marks.ts';
import { room } from './editor/room.ts';
import { lookIn } from './notebook/cells.ts';
import { watchFocus } from './notebook/focus.ts';
import { followOutputs } from './notebook/follow.ts';
import { revealExtension } from './notebook/reveal.ts';
import { reportRenderer } from './report/renderer.ts';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'dsim-lab:plugin',
  description: "Shows dsim's reports under their cells and in their editors.",
  autoStart: true,
  requires: [IRenderMimeRegistry, IEditorExtensionRegistry, IEditorLanguageRegistry],
  activate: (
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    editors: IEditorExtensionRegistry,
    languages: IEditorLanguageRegistry
  ) => {
    lookIn(app.shell);
    watchFocus();
    rendermime.addFactory(reportRenderer(languages));
    editors.addExtension({
      name: 'dsim-lab:marks',
      factory: ({ model }) =>
        isCodeCell(model)
          ? EditorExtensionRegistry.createImmutableExtension([
              marks,
              room,
              revealExtension,
              diagnosticsByHand,
              followOutputs(model)
            ])
          : null
    });
  }
};

/** The cell model of an editor, if it is the editor of a cell with outputs. */
function isCodeCell(model: CodeEditor.IModel): model is ICodeCellModel {
  return 'outputs' in model && model.outputs !== null && typeof model.outputs === 'object';
}

export default plugin;
