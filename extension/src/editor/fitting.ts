/** Truncates the text at the end of a line to the available width, between numbers only. */

/** The minimum width; with less room the editor scrolls. */
const LEAST = 32;
/** The maximum width, however wide the window. */
const MOST = 120;
/** One number with its name, up to this many characters, is never truncated. */
const SHORT = 24;
/** The separators between a value and its gradient, and between the values of one line. */
const BETWEEN = /( {3}| {2}· {2})/u;

/** Whether all of `text` fits. */
export function fits(text: string, room: number): boolean {
  return size(text) <= Math.min(room, MOST);
}

/**
 * `text` truncated to `room` characters, or to the minimum width.
 *
 * Truncates values and gradients from their ends, number by number, the longest first. One number with a short
 * name is kept, since a part of it would be useless.
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

/** The maximum length of each text so that all fit: shorter ones leave their room to the others. */
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
  // Truncates before a number or a name, never inside.
  let end = longest - 1;
  while (end > 0 && !ENDS.test(characters[end - 1] ?? '')) {
    end--;
  }
  if (end === 0) {
    end = longest - 1; // it is one name
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
