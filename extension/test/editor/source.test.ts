import assert from 'node:assert/strict';
import { test } from 'node:test';
import { places } from '../../src/editor/source.ts';

const SOURCE = '%%kernel step\nfor i in x:\n    x[i] += 1';

test('the same text is fresh', () => {
  assert.deepEqual(places(SOURCE, SOURCE), { fresh: true, lines: [1, 2, 3] });
});

test('what IPython drops makes no difference', () => {
  const padded = `\n  \n${SOURCE.replace('step', 'step  ')}\n\n`;
  assert.deepEqual(places(SOURCE, padded), { fresh: true, lines: [3, 4, 5] });
  assert.equal(places(`${SOURCE}\n`, SOURCE).fresh, true);
});

test('spaces at the end of another line do', () => {
  assert.equal(places(SOURCE, SOURCE.replace('x:', 'x: ')).fresh, false);
});

test('lines around an edit are found, those in it are not', () => {
  const edited = '%%kernel step\nfor j in x:\n    pass\n    x[i] += 1';
  assert.deepEqual(places(SOURCE, edited), { fresh: false, lines: [1, null, 4] });
  assert.deepEqual(places(SOURCE, '%%kernel step\n    x[i] += 1'), { fresh: false, lines: [1, null, 2] });
});

test('lines that repeat are counted once', () => {
  assert.deepEqual(places('a\na\na', 'a\na'), { fresh: false, lines: [1, 2, null] });
});

test('another text shares nothing', () => {
  assert.deepEqual(places(SOURCE, 'print(1)'), { fresh: false, lines: [null, null, null] });
  assert.deepEqual(places(SOURCE, ''), { fresh: false, lines: [null, null, null] });
});

test('a report whose text begins with empty lines counts them', () => {
  assert.deepEqual(places('\n\na\nb', 'a\nb'), { fresh: true, lines: [null, null, 1, 2] });
});
