/** Plots over the steps of a tape, stacked, with a shared cursor. */
import { html } from '../page/dom.ts';
import { visible } from '../page/text.ts';
import { acrossOf, draw, keyOf, linesOf, written } from './curves.ts';
import type { Across, Curve, Drawn } from './curves.ts';

export interface Steps {
  steps: number[];
  /** The call at each step. */
  kernels: string[];
  /** Shows the call at this step. */
  go: (step: number) => void;
}

/**
 * Draw curves over steps.
 *
 * The values at the cursor are a slider for keyboards and screen readers: the arrow keys move the cursor. The
 * pictures are outside it, since screen readers skip the content of a slider.
 */
export function plots(given: Steps, curves: Curve[]): HTMLElement {
  const { steps, kernels } = given;
  const across = acrossOf(steps);
  const lines = linesOf(kernels);
  const drawn = curves.map((curve, index) => draw(curve, across, lines, index === curves.length - 1));
  const pictures = html(
    'div',
    { class: 'dsim-plots' },
    ...drawn.map(({ curve, picture }) => html('figure', {}, html('figcaption', {}, caption(curve)), picture))
  );
  const slider = html('p', {
    class: 'dsim-readout',
    role: 'slider',
    tabindex: 0,
    title: 'The arrow keys go from step to step, Enter to the lines of the kernel',
    'aria-label': 'Step of the tape',
    'aria-valuemin': String(steps[0] ?? 0),
    'aria-valuemax': String(steps.at(-1) ?? 0)
  });
  const say = (at: number) => {
    const parts = [
      `step ${steps[at]}`,
      kernels[at] ?? '',
      ...curves.map(each => `${each.name} ${written(each, at)}`)
    ];
    const said = visible(parts.filter(part => part !== '').join(' · '));
    slider.textContent = said;
    slider.setAttribute('aria-valuenow', String(steps[at]));
    slider.setAttribute('aria-valuetext', said);
  };
  listen(slider, pictures, drawn, across, say, given.go);
  return html('div', {}, html('div', { class: 'dsim-scroll' }, pictures), keyOf(lines), slider);
}

/** Move the cursor by pointer and keyboard. */
function listen(
  slider: HTMLElement,
  pictures: HTMLElement,
  drawn: Drawn[],
  { steps, xs }: Across,
  say: (at: number) => void,
  go: (step: number) => void
): void {
  let at = 0;
  const move = (index: number) => {
    at = Math.min(Math.max(index, 0), steps.length - 1);
    for (const { cursor } of drawn) {
      cursor.setAttribute('transform', `translate(${xs[at] ?? 0} 0)`);
    }
    say(at);
  };
  const under = (event: MouseEvent) => {
    const left = drawn[0]?.picture.getBoundingClientRect().left ?? 0;
    return nearest(xs, event.clientX - left);
  };
  move(0);
  pictures.addEventListener('pointermove', event => move(under(event)));
  pictures.addEventListener('click', event => go(steps[under(event)] ?? 0));
  slider.addEventListener('keydown', event => {
    const to = afterKey(event.key, at, steps.length);
    if (to !== null) {
      move(to);
    } else if (event.key === 'Enter') {
      go(steps[at] ?? 0);
    } else {
      return;
    }
    event.preventDefault();
  });
}

/** The new position of a slider with `count` positions after a key; null for other keys. */
function afterKey(key: string, at: number, count: number): number | null {
  const page = Math.max(1, Math.round(count / 10));
  const steps: Record<string, number> = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -page,
    PageUp: page,
    Home: -count,
    End: count
  };
  const step = steps[key];
  return step === undefined ? null : at + step;
}

function caption({ name, log }: Curve): string {
  return log ? `${name} (logarithmic)` : name;
}

/** The index of the number closest to `wanted`. */
function nearest(numbers: number[], wanted: number): number {
  let best = 0;
  numbers.forEach((number, index) => {
    if (Math.abs(number - wanted) < Math.abs((numbers[best] ?? 0) - wanted)) {
      best = index;
    }
  });
  return best;
}
