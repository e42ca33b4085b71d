/** Indexing of a folded tape: from step to call, and the nesting of repeats. */
import type { Call, Tape } from '../model/report.ts';

type Group = Tape['groups'][number];

/** The items of a tape or a repeat: folded calls, by their numbers, and nested repeats. */
type Item = number | Block;

interface Block {
  count: number;
  items: Item[];
}

/** The folded calls of a tape, in order; their numbers count from 0. */
export function foldedCalls(tape: Tape): Call[] {
  return tape.groups.flatMap(({ calls }) => calls);
}

/** The items of a group; its first call has the number `first`. */
function block({ count, calls }: Group, first: number): Block {
  const group: Block = { count, items: [] };
  const open = [group];
  calls.forEach((call, index) => {
    // In a report without nesting, each call repeats alone.
    const counts = call.repeats ?? (call.count === undefined ? [] : [call.count]);
    const stay = Math.max(0, counts.length - (call.begins ?? counts.length));
    open.length = Math.min(open.length, 1 + stay);
    for (const each of counts.slice(open.length - 1)) {
      const inside: Block = { count: each, items: [] };
      open.at(-1)?.items.push(inside);
      open.push(inside);
    }
    open.at(-1)?.items.push(first + index);
  });
  return group;
}

/** The number of calls in one repeat of a block. */
function once({ items }: Block): number {
  return items.reduce<number>((sum, item) => sum + length(item), 0);
}

function length(item: Item): number {
  return typeof item === 'number' ? 1 : item.count * once(item);
}

/** The number of calls in one repeat of a group. */
export function period(group: Group): number {
  return once(block(group, 0));
}

/** The folded call at this unfolded step; null when the groups omit it. */
export function callAt(tape: Tape, number: number): Call | null {
  const group = tape.groups.findLast(({ first }) => first <= number);
  if (group === undefined) {
    return null;
  }
  const found = within(block(group, 0), number - group.first);
  return found === null ? null : (group.calls[found] ?? null);
}

function within(repeated: Block, offset: number): number | null {
  if (offset >= length(repeated)) {
    return null;
  }
  let left = offset % once(repeated);
  for (const item of repeated.items) {
    if (left < length(item)) {
      return typeof item === 'number' ? item : within(item, left);
    }
    left -= length(item);
  }
  return null;
}

/** Folded calls that repeat together. */
export interface Repeat {
  count: number;
  /** The numbers of its first and its last folded call. */
  first: number;
  last: number;
  /** The number of enclosing repeats. */
  level: number;
}

/** All repeats of a tape, outer before inner. */
export function repeats(tape: Tape): Repeat[] {
  let first = 0;
  return tape.groups.flatMap(group => {
    const found = repeatsOf(block(group, first), 0);
    first += group.calls.length;
    return found;
  });
}

function repeatsOf(item: Block, level: number): Repeat[] {
  const own = item.count > 1;
  const inside = item.items.flatMap(each =>
    typeof each === 'number' ? [] : repeatsOf(each, level + (own ? 1 : 0))
  );
  const calls = leaves(item);
  const ends = { first: calls[0] ?? 0, last: calls.at(-1) ?? 0 };
  return own && calls.length > 0 ? [{ count: item.count, ...ends, level }, ...inside] : inside;
}

function leaves(item: Item): number[] {
  return typeof item === 'number' ? [item] : item.items.flatMap(leaves);
}
