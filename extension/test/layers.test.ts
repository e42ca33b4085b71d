import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { test } from 'node:test';

/** A folder may use those after it, and none before: as `lint-imports` checks it for Python. */
const LAYERS = ['index.ts', 'report', 'tape', 'diagnostics', 'notebook', 'editor', 'model', 'page'];
const SOURCES = join(import.meta.dirname, '..', 'src');

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter(file =>
  file.endsWith('.ts')
);
const imports = (file: string) =>
  Array.from(readFileSync(join(SOURCES, file), 'utf8').matchAll(/ from '(\.{1,2}\/[^']*)'/g), found =>
    join(dirname(file), found[1] ?? '')
  );
const layer = (file: string) => LAYERS.indexOf(file.split(sep)[0] ?? '');

test('every folder has its layer', () => {
  assert.ok(files.length > 20);
  assert.deepEqual(files.filter(file => layer(file) === -1), []);
});

test('imports go down only', () => {
  const wrong = files.flatMap(file =>
    imports(file)
      .filter(used => layer(used) < layer(file))
      .map(used => `${file} imports ${used}`)
  );
  assert.deepEqual(wrong, []);
});

test('no files import each other in a circle', () => {
  const done = new Set<string>();
  const visit = (file: string, path: string[]) => {
    assert.ok(!path.includes(file), [...path, file].join(' → '));
    if (!done.has(file)) {
      imports(file).forEach(used => visit(used, [...path, file]));
      done.add(file);
    }
  };
  files.forEach(file => visit(file, []));
});
