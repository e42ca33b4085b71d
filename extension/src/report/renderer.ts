/** Draws a report under its cell: a headline, its diagnostics, and tabs for the rest. */
import type { CodeCell } from '@jupyterlab/cells';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { IRenderMime } from '@jupyterlab/rendermime';
import { Widget } from '@lumino/widgets';
import { diagnosticView, lastLine, placeLink } from '../diagnostics/diagnosticView.ts';
import { isOfItsCell, outdated, plainText, readReport, REPORT_MIME, timings } from '../model/report.ts';
import type { Call, Listing, Place, Report, Whereabouts } from '../model/report.ts';
import { cellNamed, cellOf, cellOfKernel, processNamed, whenPlaced } from '../notebook/cells.ts';
import { followProcess } from '../notebook/process.ts';
import { pointAtPlace, revealInCell, revealPlace } from '../notebook/reveal.ts';
import { attendSliders } from '../notebook/sliders.ts';
import { followUpdates } from '../notebook/updates.ts';
import { html } from '../page/dom.ts';
import { visible } from '../page/text.ts';
import { tapeView } from '../tape/tapeView.ts';
import { legend } from './legend.ts';
import { listingView } from './listingView.ts';
import type { PersonsLine } from './listingView.ts';
import { summaryView } from './summaryView.ts';
import { Tabs } from './tabs.ts';
import type { Tab } from './tabs.ts';

/** The hint on the keyboard command, shown where there are diagnostics to go to. */
const KEYS = 'F8 in the cell goes from one to the next.';
const LABELS = { adjoint: 'Adjoint', ir: 'IR', python: 'Python', llvm: 'LLVM', ptx: 'PTX' };

class ReportWidget extends Widget implements IRenderMime.IRenderer {
  private readonly languages: IEditorLanguageRegistry;
  private readonly tabs = new Tabs();
  private readonly headline = html('div', { class: 'dsim-part' });
  /** Live regions, whose changes screen readers announce: so they stay on the page. */
  private readonly outdated = html('p', { class: 'dsim-outdated', role: 'status' });
  private readonly status = html('p', { class: 'dsim-status', role: 'status' });
  private readonly body = html('div', { class: 'dsim-part' });
  private report: Report | null = null;
  private metadata: IRenderMime.IMimeModel['metadata'] = {};
  private look: () => void = () => this.sayOutdated('own');
  private leave: () => void = () => undefined;
  private unpoint: () => void = () => undefined;

  constructor(languages: IEditorLanguageRegistry) {
    super();
    this.languages = languages;
    this.addClass('dsim-report');
  }

  /** Draw a report, or replace the drawn one: the scrubber sends one for each iteration. */
  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const report = readReport(model.data);
    this.report = report;
    if (report === null) {
      this.node.replaceChildren(html('pre', {}, plainText(model.data)));
      return;
    }
    const focus = document.activeElement;
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', report.kernel === null ? 'Report' : `Report on ${report.kernel}`);
    const go = (place: Place) => void this.revealPlace(place);
    this.status.textContent = '';
    this.headline.replaceChildren(headline(report, go));
    this.metadata = model.metadata;
    this.look();
    this.body.replaceChildren(...body(report, go));
    if (this.tabs.element.parentNode !== this.node) {
      this.node.replaceChildren(this.headline, this.outdated, this.body, this.status, this.tabs.element);
    }
    this.tabs.update(this.tabsOf(report), report.open);
    if (focus instanceof HTMLElement && focus !== document.activeElement && this.node.contains(focus)) {
      focus.focus();
    }
  }

  protected override onAfterAttach(): void {
    this.leave = whenPlaced(this.node, cell => {
      const ends = [attendSliders(this.node, cell), followUpdates(this.node, cell), this.follow(cell)];
      return () => ends.forEach(end => end());
    });
  }

  protected override onBeforeDetach(): void {
    this.leave();
  }

  /** Keep the notice current that the report's kernel has ended, or that the report is a copy. */
  private follow(cell: CodeCell): () => void {
    let current: string | null = null;
    this.look = () => this.sayOutdated(whereabouts(this.metadata, cell, current));
    return followProcess(this.node, now => {
      current = now;
      this.look();
    });
  }

  private sayOutdated(whereabouts: Whereabouts): void {
    const said = outdated(this.report, whereabouts);
    this.node.classList.toggle('dsim-gone', whereabouts !== 'own');
    if (this.outdated.textContent !== visible(said)) {
      this.outdated.replaceChildren(html('span', {}, said));
    }
  }

  override dispose(): void {
    this.tabs.dispose();
    super.dispose();
  }

  private tabsOf(report: Report): Tab[] {
    const tabs: Tab[] = [];
    const { tape } = report;
    if (report.summary.rows.length > 0 || report.heat !== null || report.probe !== null) {
      const key = JSON.stringify([report.summary, report.heat, report.probe, timings(report)]);
      tabs.push({
        name: 'summary',
        label: 'Summary',
        key,
        make: () => summaryView(report, line => void this.reveal(line))
      });
    }
    if (tape !== null) {
      const make = () => tapeView(tape, report, call => this.revealCall(call));
      tabs.push({ name: 'tape', label: 'Tape', key: JSON.stringify([tape, timings(report)]), make });
    }
    for (const name of new Set(report.listings.map(each => each.name))) {
      const found = report.listings.filter(each => each.name === name);
      const key = JSON.stringify([found, report.origins]);
      tabs.push({ name, label: LABELS[name], key, make: () => this.listings(found, report) });
    }
    return tabs;
  }

  /** The listings of one kind: one for each kernel, with its name as heading if there are several. */
  private listings(found: Listing[], report: Report): HTMLElement {
    const views = found.flatMap(listing => [
      ...(found.length > 1 ? [html('p', { class: 'dsim-kernel' }, listing.kernel)] : []),
      listingView(listing, report, this.languages, {
        point: line => this.point(line),
        reveal: ({ origin, line }) => void this.revealPlace({ origin, line, end_line: line, end_column: 1 })
      })
    ]);
    return html('div', {}, ...views);
  }

  private async reveal(line: number): Promise<void> {
    if (this.report?.kind === 'function') {
      // Its first origin is the cell or file of its text.
      return this.revealPlace({ origin: 0, line, end_line: line, end_column: 1 });
    }
    this.said(await revealInCell(cellOf(this.node), line, line), line);
  }

  private async revealPlace(place: Pick<Place, 'origin' | 'line' | 'end_line' | 'end_column'>): Promise<void> {
    if (this.report !== null) {
      const { origin, line } = place;
      this.said(await revealPlace(this.node, this.report, origin, line, lastLine(place)), line);
    }
  }

  /** Show a message if there is nothing to show. */
  private said(shown: boolean, line: number): void {
    this.status.textContent = shown ? '' : `There is no cell here any more with this line ${line}.`;
  }

  private point(line: PersonsLine | null): void {
    this.unpoint();
    this.unpoint =
      line === null || this.report === null
        ? () => undefined
        : pointAtPlace(this.node, this.report, line.origin, line.line);
  }

  private async revealCall(call: Call): Promise<boolean> {
    if (call.line === null) {
      return false;
    }
    const cell = call.cell ? cellOf(this.node) : cellOfKernel(this.node, call.kernel);
    return revealInCell(cell, call.line, call.end_line ?? call.line);
  }
}

function whereabouts(
  metadata: IRenderMime.IMimeModel['metadata'],
  cell: CodeCell,
  current: string | null
): Whereabouts {
  const [own, made] = [cellNamed(metadata), processNamed(metadata)];
  if (made !== null && current !== null && made !== current) {
    return 'ended';
  }
  return own !== null && own !== cell.model.id ? 'copied' : 'own';
}

type Go = (place: Place) => void;

/** Whether the cell failed: then every front end shows its error. */
function failed({ kind, status }: Report): boolean {
  return kind === 'kernel' && status === 'failed';
}

function headline(report: Report, go: Go): HTMLElement {
  return html(
    'p',
    {},
    html('span', { class: 'dsim-headline' }, report.summary.text),
    ...(failed(report) ? report.diagnostics.flatMap(each => [' ', placeLink(each, report, go)]) : []),
    // Shown by the style sheet when the editor above is marked as edited; its space is reserved from the beginning,
    // so that the layout below does not shift at the first key.
    ...(isOfItsCell(report) ? [' ', html('span', { class: 'dsim-edited' }, 'edited since: run it again')] : [])
  );
}

function body(report: Report, go: Go): HTMLElement[] {
  const listed = failed(report) ? [] : report.diagnostics;
  const diagnostics = listed.map(each => html('li', {}, diagnosticView(each, report, go)));
  const parts = [
    diagnostics.length === 0
      ? null
      : html('ul', { class: 'dsim-diagnostics', 'aria-label': 'Diagnostics' }, ...diagnostics),
    report.diagnostics.length > 0 && isOfItsCell(report) ? html('p', { class: 'dsim-hint' }, KEYS) : null,
    legend(report)
  ];
  return parts.filter(part => part !== null);
}

export function reportRenderer(languages: IEditorLanguageRegistry): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: [REPORT_MIME],
    defaultRank: 40, // before text/html, which carries the same report for other front ends
    createRenderer: () => new ReportWidget(languages)
  };
}
