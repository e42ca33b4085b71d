/**
 * Updates reports on a page that did not run their cell: after a reload, and in a second window.
 *
 * JupyterLab replaces an output only on the page that received it first. The kernel sends updates to all pages, with
 * the cell that they belong to.
 */
import type { CodeCell } from '@jupyterlab/cells';
import { readReport, REPORT_MIME } from '../model/report.ts';
import { cellNamed, sessionOf } from './cells.ts';
import type { Message } from './cells.ts';

/** Milliseconds to wait for JupyterLab to replace the output on the page that ran the cell. */
const PAUSE = 30;

/** Listen to the session's updates of a cell's reports; returns a function that stops it. */
export function followUpdates(output: Element, cell: CodeCell): () => void {
  const said = sessionOf(output)?.iopubMessage;
  let timer: number | undefined;
  const hear = (_: unknown, { header, content }: Message) => {
    const { data, metadata } = content;
    if (header.msg_type === 'update_display_data' && data && cellNamed(metadata) === cell.model.id) {
      clearTimeout(timer);
      timer = setTimeout(() => replace(cell, data, metadata ?? {}), PAUSE);
    }
  };
  said?.connect(hear);
  return () => {
    clearTimeout(timer);
    said?.disconnect(hear);
  };
}

/** Replace the cell's report of the same kernel, if it differs. */
function replace(cell: CodeCell, data: Record<string, unknown>, metadata: Record<string, unknown>): void {
  const report = readReport(data);
  if (cell.isDisposed || report === null) {
    return;
  }
  const { outputs } = cell.model;
  for (let index = 0; index < outputs.length; index++) {
    const shown = outputs.get(index).data;
    const before = readReport(shown);
    if (before?.kind === report.kind && before.kernel === report.kernel) {
      if (JSON.stringify(shown[REPORT_MIME]) !== JSON.stringify(report)) {
        outputs.set(index, { output_type: 'display_data', data, metadata } as never);
      }
      return;
    }
  }
}
