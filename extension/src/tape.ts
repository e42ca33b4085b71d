/** Questions about a folded tape. */
import type { Call, Tape } from './report.ts';

/** The call with this number, unfolded; null when the groups do not hold it. */
export function callAt(tape: Tape, number: number): Call | null {
  const group = tape.groups.findLast(({ first }) => first <= number);
  if (group === undefined || number >= group.first + group.count * period(group)) {
    return null;
  }
  let left = (number - group.first) % period(group);
  return group.calls.find(call => (left -= call.count ?? 1) < 0) ?? null;
}

type Group = Tape['groups'][number];

/** How many calls one repeat of a group has. */
export function period({ calls }: Group): number {
  return calls.reduce((sum, { count }) => sum + (count ?? 1), 0);
}

/** What a call does to a field, from what is said of both. */
export type Touch = 'reads' | 'stores' | 'accumulates' | 'overwrites';
export const TOUCHES: readonly Touch[] = ['reads', 'stores', 'accumulates', 'overwrites'];

/** One folded call among the fields: a column of the graph. */
export interface Column {
  call: Call;
  group: number;
  /** The lane of each field that it touches, and how; what it overwrites stands in the place of what it stores. */
  touches: { lane: number; touch: Touch }[];
}

/** The tape as a graph of fields and folded calls: a lane for each field, a column for each call. */
export interface Lanes {
  fields: string[];
  columns: Column[];
  /** How many folded calls there were no columns for. */
  left: number;
}

export function lanes(tape: Tape, most: number): Lanes {
  const fields: string[] = [];
  const lane = (name: string) => (fields.includes(name) ? fields.indexOf(name) : fields.push(name) - 1);
  const columns: Column[] = [];
  let left = 0;
  tape.groups.forEach(({ calls }, group) => {
    for (const call of calls) {
      if (columns.length === most) {
        left++;
        continue;
      }
      const touches = TOUCHES.flatMap(touch =>
        call[touch]
          .filter(name => touch !== 'stores' || !call.overwrites.includes(name))
          .map(name => ({ lane: lane(name), touch }))
      );
      columns.push({ call, group, touches });
    }
  });
  return { fields, columns, left };
}
