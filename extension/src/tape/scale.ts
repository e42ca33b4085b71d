/** Axes of plots: the position of a value between 0 and 1, and the tick values. */
import { brief } from '../page/text.ts';

export interface Tick {
  at: number;
  label: string;
}

export interface Axis {
  /** 0 at the axis' low end, 1 at its high end. */
  place: (value: number) => number;
  ticks: Tick[];
}

export type Label = (value: number) => string;

/** An axis with round ends that enclose the values. */
export function linearAxis(values: readonly number[], label: Label = brief): Axis {
  const [low, high] = span(values);
  const step = roundStep((high - low || Math.abs(high) || 1) / 3);
  const [from, to] = [
    Math.floor(low / step) * step,
    Math.max(Math.ceil(high / step), Math.floor(low / step) + 1) * step
  ];
  const steps = Math.round((to - from) / step);
  return {
    place: value => (value - from) / (to - from),
    ticks: Array.from({ length: steps + 1 }, (_, index) => from + index * step).map(value => ({
      at: (value - from) / (to - from),
      label: label(value)
    }))
  };
}

/**
 * A logarithmic axis between powers of ten.
 *
 * Zero is drawn at its low end; without positive values the axis is linear.
 */
export function logAxis(values: readonly number[], label: Label = asPower): Axis {
  const positive = values.filter(value => value > 0);
  if (positive.length === 0) {
    return linearAxis(values, label === asPower ? brief : label);
  }
  const [low, high] = span(positive).map(Math.log10) as [number, number];
  const from = Math.floor(low);
  const to = Math.max(Math.ceil(high), from + 1);
  const every = Math.ceil((to - from) / 4);
  const powers = Array.from(
    { length: Math.floor((to - from) / every) + 1 },
    (_, index) => from + index * every
  );
  return {
    place: value => (value > 0 ? (Math.log10(value) - from) / (to - from) : 0),
    ticks: powers.map(power => ({ at: (power - from) / (to - from), label: label(10 ** power) }))
  };
}

function span(values: readonly number[]): [number, number] {
  return [
    values.reduce((a, b) => Math.min(a, b), Infinity),
    values.reduce((a, b) => Math.max(a, b), -Infinity)
  ].map(end => (Number.isFinite(end) ? end : 0)) as [number, number];
}

/** The smallest of 1, 2, 5, 10, … that is at least `step`. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  const digit = [1, 2, 5, 10].find(each => each * power >= step * (1 - 1e-9)) ?? 10;
  return digit * power;
}

/** The shortest notation of a power of ten. */
function asPower(value: number): string {
  const power = Math.round(Math.log10(value));
  if (power >= -2 && power <= 3) {
    return brief(10 ** power);
  }
  const digits = Array.from(String(Math.abs(power)), digit => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]);
  return `10${power < 0 ? '⁻' : ''}${digits.join('')}`;
}
