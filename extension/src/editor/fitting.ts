/** Cuts what stands at the end of a line to the room that there is, and no number in two. */

/** Less than this is not worth a look: then the editor scrolls. */
const LEAST = 32;
/** Longer than this nobody reads, however wide the window. */
const MOST = 120;
/** One number, with its name, in so many characters is never cut. */
const SHORT = 24;
/** What stands between a value and its gradient, and between the values of one line. */
const BETWEEN = /( {3}| {2}· {2})/u;

/** Whether all of `text` can be shown. */
export function fits(text: string, room: number): boolean {
  return size(text) <= Math.min(room, MOST);
}

/**
 * `text` in at most `room` characters, if these are not too few.
 *
 * Values and gradients each give way: the longest first, from their ends, number by number. One number with a short
 * name stays: what would be left of it says nothing.
 */
export function fitted(text: string, room: number): string {
  const pieces = text.split(BETWEEN);
  const [values, gaps] = [0, 1].map(odd => pieces.filter((_, index) => index % 2 === odd)) as [
    string[],
    string[]
  ];
  const long = values.filter(value => !isShort(value));
  const kept = total(gaps) + total(values.filter(isShort));
  const left = Math.min(Math.max(Math.floor(room), LEAST), MOST) - kept;
  const longest = share(long.map(size), left);
  return pieces.map((piece, index) => (index % 2 === 1 || isShort(piece) ? piece : cut(piece, longest))).join('');
}

function isShort(value: string): boolean {
  return size(value) <= SHORT && !value.includes('(');
}

/** How long each may be so that all fit: what is shorter leaves its room to the others. */
function share(sizes: number[], room: number): number {
  let left = room;
  const sorted = sizes.toSorted((a, b) => a - b);
  for (const [index, each] of sorted.entries()) {
    const fair = left / (sorted.length - index);
    if (each > fair) {
      return Math.max(Math.floor(fair), 1);
    }
    left -= each;
  }
  return Infinity;
}

/** The first numbers of `text`, in at most `longest` characters with an ellipsis. */
function cut(text: string, longest: number): string {
  const characters = Array.from(text);
  if (characters.length <= longest) {
    return text;
  }
  // What is left ends in front of a number or a name, never in one.
  let end = longest - 1;
  while (end > 0 && !ENDS.test(characters[end - 1] ?? '')) {
    end--;
  }
  if (end === 0) {
    end = longest - 1; // all of it is a name
  }
  return characters.slice(0, end).join('') + '…';
}

const ENDS = /[\s(]/u;

function size(text: string): number {
  return Array.from(text).length;
}

function total(texts: string[]): number {
  return texts.reduce((sum, text) => sum + size(text), 0);
}
