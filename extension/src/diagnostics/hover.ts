/** The diagnostics of a marked range: on hover, and by keyboard navigation. */
import { Prec, StateEffect, StateField } from '@codemirror/state';
import type { Extension } from '@codemirror/state';
import { EditorView, hoverTooltip, keymap, showTooltip } from '@codemirror/view';
import type { Command, Tooltip } from '@codemirror/view';
import { diagnosticsIn, marks } from '../editor/marks.ts';
import type { Place } from '../editor/marks.ts';
import { outdated } from '../model/report.ts';
import { revealPlace } from '../notebook/reveal.ts';
import { html } from '../page/dom.ts';
import { diagnosticView, lastLine, spoken } from './diagnosticView.ts';

/** A tooltip with all diagnostics of one place: above it, unless it would hide the lines that they refer to. */
function tooltip(found: Place[]): Tooltip | null {
  const first = found[0];
  if (first === undefined) {
    return null;
  }
  return {
    pos: Math.min(...found.map(place => place.from)),
    end: Math.max(...found.map(place => place.to)),
    above: !found.some(({ diagnostic }) => diagnostic.related.some(each => each.origin === 0 && each.line < diagnostic.line)),
    create: view => ({ dom: content(view, found) })
  };
}

function content(view: EditorView, found: Place[]): HTMLElement {
  const { report, fresh } = view.state.field(marks);
  return html(
    'div',
    { class: 'dsim-hover' },
    fresh ? null : html('p', { class: 'dsim-edited' }, 'From before the cell was edited.'),
    report?.stale === undefined ? null : html('p', { class: 'dsim-outdated' }, outdated(report)),
    ...found.map(({ diagnostic }) =>
      diagnosticView(diagnostic, report ?? NOTHING, place => {
        if (report !== null) {
          void revealPlace(view.dom, report, place.origin, place.line, lastLine(place));
        }
      })
    )
  );
}

const NOTHING = { origins: [], explanations: [] };

const hover = hoverTooltip(
  (view, position) =>
    tooltip(diagnosticsIn(view.state).filter(({ from, to }) => from <= position && position <= to)),
  { hideOnChange: true }
);

const open = StateEffect.define<Tooltip | null>();

/** The tooltip opened by keyboard; it closes when the cursor moves. */
const opened = StateField.define<Tooltip | null>({
  create: () => null,
  update(before, transaction) {
    const effect = transaction.effects.find(each => each.is(open));
    if (effect !== undefined) {
      return effect.value as Tooltip | null;
    }
    return transaction.docChanged || transaction.selection !== undefined ? null : before;
  },
  provide: field => showTooltip.from(field)
});

/** A command that moves to the next or previous diagnostic, shows it and announces it. */
function moveBy(step: 1 | -1): Command {
  return view => {
    const found = diagnosticsIn(view.state);
    if (found.length === 0) {
      return false;
    }
    const here = view.state.selection.main.head;
    const next =
      step === 1
        ? (found.find(({ from }) => from > here) ?? found[0])
        : (found.findLast(({ from }) => from < here) ?? found.at(-1));
    if (next === undefined) {
      return false;
    }
    const together = found.filter(({ from }) => from === next.from);
    const report = view.state.field(marks).report ?? NOTHING;
    const number = `${found.indexOf(next) + 1} of ${found.length}`;
    view.dispatch({
      selection: { anchor: next.from },
      scrollIntoView: true,
      effects: [
        open.of(tooltip(together)),
        EditorView.announce.of([number, ...together.map(({ diagnostic }) => spoken(diagnostic, report))].join('. '))
      ]
    });
    return true;
  };
}

const close: Command = view => {
  if (view.state.field(opened) === null) {
    return false;
  }
  view.dispatch({ effects: open.of(null) });
  return true;
};

export const diagnosticsByHand: Extension = [
  hover,
  opened,
  Prec.high(
    keymap.of([
      { key: 'F8', run: moveBy(1), shift: moveBy(-1), preventDefault: true },
      { key: 'Escape', run: close }
    ])
  )
];
