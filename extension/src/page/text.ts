/** Text from reports: offsets of columns, display of control characters, truncation, and formats of numbers. */

/** The UTF-16 offset in `line` of a column that counts Unicode code points; past the end, the end. */
export function utf16Offset(line: string, column: number): number {
  let offset = 0;
  for (const character of line) {
    if (column-- <= 0) {
      break;
    }
    offset += character.length;
  }
  return offset;
}

/** The first line of a place without its indentation, the text before the range, and the length of the range. */
export function underlined(place: {
  text: string;
  line: number;
  column: number;
  end_line: number;
  end_column: number;
}): { code: string; before: string; width: number } {
  const code = place.text.trimStart();
  const indent = place.text.length - code.length; // spaces and tabs: one unit for each code point
  const characters = Array.from(code);
  const start = Math.max(place.column - indent, 0);
  const end = place.end_line === place.line ? place.end_column - indent : characters.length;
  return {
    code: code.trimEnd(),
    before: characters.slice(0, start).join(''),
    width: Math.max(end - start, 1)
  };
}

const HIDDEN = new RegExp(
  '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f' + // control characters, but for tab and newline
    '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]', // controls of the writing direction
  'g'
);

/** `text` with control characters, which a terminal executes and a page hides, replaced by visible symbols. */
export function visible(text: string): string {
  return text.replace(HIDDEN, character => {
    const code = character.charCodeAt(0);
    if (code < 0x20) {
      return String.fromCharCode(0x2400 + code); // the Unicode block "Control Pictures"
    }
    return code === 0x7f ? '\u2421' : '\ufffd';
  });
}

const RIGHT = '[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]+';
const FROM_RIGHT = new RegExp(`(${RIGHT}(?:\\s+${RIGHT})*)`, 'u');

/**
 * `text` split where the writing direction changes; every second piece is right-to-left.
 *
 * Otherwise the bidirectional algorithm reorders numbers and signs beside such a word: `א = 3` would read 3 = א.
 */
export function directions(text: string): string[] {
  return text.split(FROM_RIGHT);
}

/** The first `length` code points of `text`, the last of them an ellipsis when there are more. */
export function shortened(text: string, length: number): string {
  const characters = Array.from(text);
  return characters.length <= length ? text : characters.slice(0, length - 1).join('') + '…';
}

/** "1 call", "2,048 calls". */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** " × 2,048"; empty for a count of 1. */
export function times(count: number): string {
  return count === 1 ? '' : ` × ${count.toLocaleString('en')}`;
}

/** Formats bytes: exact below 10,000, else with three digits and a decimal unit. */
export function bytes(count: number): string {
  if (count < 1e4) {
    return `${count.toLocaleString('en')} B`;
  }
  const power = Math.min(Math.floor(Math.log10(count) / 3), 4);
  return `${Number((count / 1000 ** power).toPrecision(3))} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`;
}

/** Formats seconds with three digits and a fitting unit. */
export function seconds(value: number): string {
  const [scale, unit] = value >= 1 ? [1, 's'] : value >= 1e-3 ? [1e3, 'ms'] : [1e6, 'µs'];
  return `${Number((value * scale).toPrecision(3))} ${unit}`;
}

/** A number in at most four digits, as in `0.0123` and `1.23e-7`. */
export function brief(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e4)) {
    return value
      .toExponential(2)
      .replace(/\.?0+e/, 'e')
      .replace('e+', 'e');
  }
  return String(Number(value.toPrecision(4)));
}
