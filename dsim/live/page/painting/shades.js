/** The colours of a layer: one for all, from its map, or one for each. */
import { codesOf, fromBase64, missingCode } from '../frames/decode.js';

const MISSING_COLOUR = [128, 128, 128];
/** At least 3 : 1 on white and on black. */
export const PALETTE = ['#3d7fc4', '#c2621b', '#3f8f4f', '#9a62c0', '#b8505a'];

/** `#rrggbb` as three numbers. */
export function bytesOfColour(text) {
  return [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));
}

/** The colour of a layer without values. */
export function plainColour(layer, index, ink) {
  return layer.color ?? (layer.kind === 'arrows' || layer.kind === 'lines' ? ink : PALETTE[index % PALETTE.length]);
}

/** The 256 colours of a map, red, green and blue of each. */
export function coloursOf(scene, layer) {
  return layer.map === null ? null : fromBase64(scene.maps[layer.map]);
}

/** For each code its four bytes, as one number: what is looked up per value. */
function lookup(colours, missing) {
  const table = new Uint32Array(missing + 1);
  const bytes = new Uint8Array(table.buffer);
  for (let code = 0; code < missing; code++) {
    const from = 3 * Math.round((code * 255) / (missing - 1));
    bytes.set([colours[from], colours[from + 1], colours[from + 2], 255], 4 * code);
  }
  bytes.set([...MISSING_COLOUR, 255], 4 * missing);
  return table;
}

/** Four bytes for each of `count` entries. */
export function shadesOf(arrays, buffer, count, colours, plain) {
  const shades = new Uint32Array(count);
  const bytes = new Uint8Array(shades.buffer);
  if (arrays.colors !== undefined) {
    const given = codesOf(arrays.colors, buffer);
    for (let index = 0; index < count; index++) {
      bytes.set([given[3 * index], given[3 * index + 1], given[3 * index + 2], 255], 4 * index);
    }
  } else if (arrays.values !== undefined && colours !== null) {
    const codes = codesOf(arrays.values, buffer);
    const table = lookup(colours, missingCode(arrays.values));
    for (let index = 0; index < count; index++) {
      shades[index] = table[codes[index]];
    }
  } else {
    shades.fill(new Uint32Array(new Uint8Array([...bytesOfColour(plain), 255]).buffer)[0]);
  }
  return bytes;
}

/** The shades of a grid as an image: from (x, y) with y the faster to rows of x, the lowest row first. */
export function imageOf(shades, width, height) {
  const from = new Uint32Array(shades.buffer);
  const image = new Uint32Array(from.length);
  for (let x = 0; x < width; x++) {
    for (let y = 0; y < height; y++) {
      image[y * width + x] = from[x * height + y];
    }
  }
  return new Uint8ClampedArray(image.buffer);
}

/** The numbers at both ends of a layer's map, and whether values are missing; null without a map. */
export function rangeOf(layer, arrays, buffer) {
  if (layer.map === null || arrays.values === undefined) {
    return null;
  }
  const missing = missingCode(arrays.values);
  return {
    low: [arrays.values.low].flat()[0],
    high: [arrays.values.high].flat()[0],
    missing: codesOf(arrays.values, buffer).includes(missing),
  };
}
