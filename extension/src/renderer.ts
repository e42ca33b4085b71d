/** Draws a report under its cell. All of it is text: nothing in a report is ever read as HTML. */
import type { IRenderMime } from '@jupyterlab/rendermime';
import { Widget } from '@lumino/widgets';
import { readReport, REPORT_MIME } from './report';

class ReportWidget extends Widget implements IRenderMime.IRenderer {
  constructor() {
    super();
    this.addClass('dsim-report');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.node.textContent = readReport(model.data).summary;
  }
}

export const reportRenderer: IRenderMime.IRendererFactory = {
  safe: true,
  mimeTypes: [REPORT_MIME],
  defaultRank: 40, // before text/html, which carries the same report for other front ends
  createRenderer: () => new ReportWidget()
};
