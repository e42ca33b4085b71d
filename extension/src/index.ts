/** The plugin: what dsim adds to JupyterLab and Notebook 7. */
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { reportRenderer } from './renderer';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'dsim-lab:plugin',
  description: "Shows dsim's reports under their cells.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  activate: (_app: JupyterFrontEnd, rendermime: IRenderMimeRegistry) => {
    rendermime.addFactory(reportRenderer);
  }
};

export default plugin;
