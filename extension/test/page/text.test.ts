import assert from 'node:assert/strict';
import { test } from 'node:test';
import { directions, brief, bytes, counted, seconds, shortened, underlined, utf16Offset, visible } from '../../src/page/text.ts';

test('columns count code points, offsets UTF-16 units', () => {
  const line = 'v["𝒙é"] = x';
  assert.equal(utf16Offset(line, 0), 0);
  assert.equal(utf16Offset(line, 3), 3);
  assert.equal(utf16Offset(line, 4), 5);
  assert.equal(line.slice(utf16Offset(line, 10)), 'x');
  assert.equal(utf16Offset(line, 99), line.length);
});

test('what a terminal obeys and what turns the writing is seen', () => {
  assert.equal(visible('a\x1b[31m\x00\x7f b\u202e1'), 'a␛[31m␀␡ b\ufffd1');
  assert.equal(visible('tab\tline\n<b>'), 'tab\tline\n<b>');
});

test('long text is cut between characters', () => {
  assert.equal(shortened('abc', 3), 'abc');
  assert.equal(shortened('𝒙𝒙𝒙𝒙', 3), '𝒙𝒙…');
});

test('numbers are brief', () => {
  assert.deepEqual([0, 0.01234567, -2.5, 1234567, 1.2e-7].map(brief), [
    '0',
    '0.01235',
    '-2.5',
    '1.23e6',
    '1.2e-7'
  ]);
  assert.deepEqual([0, 9999, 10_000, 3_200_000].map(bytes), ['0 B', '9,999 B', '10 kB', '3.2 MB']);
  assert.deepEqual([0, 2.1e-5, 0.0312, 4.5].map(seconds), ['0 µs', '21 µs', '31.2 ms', '4.5 s']);
  assert.deepEqual([counted(1, 'call'), counted(2048, 'call')], ['1 call', '2,048 calls']);
});

test('what is written from right to left is told apart', () => {
  assert.deepEqual(directions('a = 1'), ['a = 1']);
  assert.deepEqual(directions('שלום = 1   ∂U/∂שלום = 3'), ['', 'שלום', ' = 1   ∂U/∂', 'שלום', ' = 3']);
  assert.deepEqual(directions('x  # שלום עולם, مرحبا'), ['x  # ', 'שלום עולם', ', ', 'مرحبا', '']);
});

test('a place without its indentation', () => {
  const place = { line: 3, column: 8, end_line: 3, end_column: 12 };
  assert.deepEqual(underlined({ ...place, text: '    a = x[i]  ' }), { code: 'a = x[i]', before: 'a = ', width: 4 });
  assert.equal(underlined({ ...place, text: '    🌊é = x[i]' }).before, '🌊é =', 'code points');
  assert.equal(underlined({ ...place, text: '    a = x[i]', end_line: 5 }).width, 4, 'to the end of the line');
  assert.equal(underlined({ ...place, text: '    a = x[i]', column: 0, end_column: 5 }).width, 1, 'not before it');
  assert.equal(underlined({ ...place, text: '', column: 0, end_column: 0 }).width, 1);
});
