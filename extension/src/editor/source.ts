/** Maps a report's lines to an editor whose text may have been edited since. */

export interface Places {
  /** Whether the editor's text equals the report's source. */
  fresh: boolean;
  /** The editor's line (from 1) for each of the report's lines, the first of them at index 0; null where it changed. */
  lines: (number | null)[];
}

/** IPython drops empty lines before a magic, spaces behind it, and newlines at the end. */
function withoutPadding(text: string): { lines: string[]; dropped: number } {
  const lines = text.split('\n');
  let dropped = 0;
  while (dropped < lines.length - 1 && lines[dropped]?.trim() === '') {
    dropped++;
  }
  let end = lines.length;
  while (end > dropped + 1 && lines[end - 1] === '') {
    end--;
  }
  const kept = lines.slice(dropped, end);
  kept[0] = (kept[0] ?? '').trimEnd();
  return { lines: kept, dropped };
}

/**
 * Find the lines of `source` in `document`.
 *
 * If the texts differ, it maps the common prefix and suffix of lines: the lines between were
 * edited and have no counterpart.
 */
export function places(source: string, document: string): Places {
  const there = withoutPadding(source);
  const here = withoutPadding(document);
  const shorter = Math.min(there.lines.length, here.lines.length);
  let head = 0;
  while (head < shorter && there.lines[head] === here.lines[head]) {
    head++;
  }
  let tail = 0;
  while (tail < shorter - head && there.lines.at(-1 - tail) === here.lines.at(-1 - tail)) {
    tail++;
  }
  const longer = here.lines.length - there.lines.length;
  const found = there.lines.map((_, index) => {
    if (index < head) {
      return index + 1 + here.dropped;
    }
    return index >= there.lines.length - tail ? index + 1 + here.dropped + longer : null;
  });
  const before: null[] = Array.from({ length: there.dropped }, () => null);
  return { fresh: longer === 0 && head === there.lines.length, lines: [...before, ...found] };
}
