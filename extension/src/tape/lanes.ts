/** The fields of a tape as a graph. */
import type { Call, Tape } from '../model/report.ts';
import { foldedCalls } from './folding.ts';

/** The access of a call to a field. */
export type Touch = 'reads' | 'stores' | 'accumulates' | 'overwrites';
export const TOUCHES: readonly Touch[] = ['reads', 'stores', 'accumulates', 'overwrites'];

/** One folded call among the fields: a column of the graph. */
export interface Column {
  call: Call;
  /** The lane of each field that it accesses, and how; an overwrite replaces the store. */
  touches: { lane: number; touch: Touch }[];
}

/** A lane for each field, in order of creation, the loss last; a column for each folded call. */
export interface Lanes {
  fields: string[];
  columns: Column[];
  /** The number of folded calls without a column. */
  left: number;
}

/**
 * The graph of a tape, limited to its first `most` calls, with the fields that these access.
 *
 * Fields are identified by the graph's nodes: two may have the same name.
 */
export function lanes(tape: Tape, most: number): Lanes {
  const { nodes, edges } = tape.graph;
  const calls = foldedCalls(tape);
  const columnOf = new Map(
    nodes
      .filter(({ kind }) => kind === 'call')
      .slice(0, Math.min(most, calls.length))
      .map(({ id }, index) => [id, index])
  );
  const touched = edges.flatMap(({ from, to, kind }) => {
    const [field, call] = kind === 'reads' ? [from, to] : [to, from];
    const column = columnOf.get(call);
    return column === undefined ? [] : [{ field, column, kind }];
  });
  const fields = nodes.filter(({ kind, id }) => kind === 'field' && touched.some(({ field }) => field === id));
  const laneOf = new Map(fields.map(({ id }, lane) => [id, lane]));
  const columns = calls.slice(0, columnOf.size).map((call, column) => {
    const own = touched.filter(each => each.column === column);
    const touches = own.flatMap(({ field, kind }) => {
      const lane = laneOf.get(field);
      return lane === undefined ? [] : kinds(call, fields[lane]?.name ?? '', kind).map(touch => ({ lane, touch }));
    });
    return { call, touches };
  });
  return { fields: fields.map(({ name }) => name), columns, left: calls.length - columns.length };
}

/** The symbols for an edge of the graph: one for a store that overwrites, two for an addition that does. */
function kinds(call: Call, name: string, kind: Exclude<Touch, 'overwrites'>): Touch[] {
  if (kind === 'reads' || !call.overwrites.includes(name)) {
    return [kind];
  }
  return kind === 'stores' ? ['overwrites'] : [kind, 'overwrites'];
}
