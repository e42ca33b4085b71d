/**
 * What a frame gives a painter: positions in three numbers each, colours in four bytes each.
 *
 * Positions have 64 bits: with 32, a picture of a meter around 10,000 km would have three places across.
 */
import { bytesOf, codesOf, fromBase64, numbersOf } from '../frames/decode.js';
import { coloursOf, imageOf, plainColour, rangeOf, shadesOf } from './shades.js';
import { onScreen } from './camera.js';

/** The coordinate of a point that has no place: no picture reaches that far. */
export const NOWHERE = Math.fround(1e30);
const HEAD = 0.3; // of an arrow's length
const LONGEST_HEAD = 9; // pixels
const SPREAD = 0.45; // radians between shaft and barb
const JOINS = { lines: 2, mesh: 3 }; // so many positions

/** What of a scene is the same in every frame. */
export function looksOf(scene) {
  return scene.layers.map(layer => ({
    layer,
    colours: coloursOf(scene, layer),
    corners: layer.indices === undefined ? null : new Uint32Array(fromBase64(layer.indices.data).buffer),
  }));
}

/** A layer that only this frame has: it brings its looks, and has its sizes in units of the bounds. */
function ownLooks({ kind, color, size }) {
  return { layer: { kind, color, size, map: null, label: '', inWorld: true }, colours: null, corners: null };
}

/** The shapes of a frame, one for each layer; `ink` is the colour of text. */
export function shapesOf(scene, looks, header, data, ink) {
  const buffer = bytesOf(data);
  return header.layers.map((told, index) => {
    const { layer, colours, corners } = looks[index] ?? ownLooks(told);
    const { arrays } = told;
    const plain = plainColour(layer, index, ink);
    const range = rangeOf(layer, arrays, buffer);
    const shape = { kind: layer.kind, layer, range, plain, of: told.of };
    if (layer.kind === 'grid' || layer.kind === 'image') {
      return { ...shape, ...cellsOf(scene, layer, arrays, buffer, colours, plain) };
    }
    const count = arrays.positions.shape[0];
    const positions = placesOf(arrays.positions, buffer);
    const shades = shadesOf(arrays, buffer, count, colours, plain);
    const size = layer.size ?? defaultSize(layer.kind, count);
    const joined = corners ?? (JOINS[layer.kind] && Uint32Array.from({ length: count }, (_, corner) => corner));
    const present = joined && withPlace(joined, positions, JOINS[layer.kind]);
    const vectors = arrays.vectors && inThree(numbersOf(arrays.vectors, buffer), arrays.vectors.shape[1], 0);
    const sizes = arrays.sizes && numbersOf(arrays.sizes, buffer);
    return { ...shape, count, positions, shades, size, sizes, corners: present, vectors };
  });
}

/** The pixels across of a shape's points or lines. */
export function pixelsAcross({ size, layer }, { camera, width, height }) {
  return layer?.inWorld ? size * camera.scale(width, height) : size;
}

/** A grid or an image: its pixels, which fill the picture. */
function cellsOf(scene, layer, arrays, buffer, colours, plain) {
  const [width, height] = (arrays.values ?? arrays.colors).shape;
  const image = imageOf(shadesOf(arrays, buffer, width * height, colours, plain), width, height);
  return { count: width * height, cells: [width, height], image, box: layer.box ?? scene.bounds };
}

function defaultSize(kind, count) {
  return kind === 'points' ? Math.min(Math.max(250 / Math.sqrt(count || 1), 2), 9) : 1.5;
}

function placesOf(described, buffer) {
  const axes = described.shape[1];
  const positions = inThree(numbersOf(described, buffer, Float64Array), axes, 0);
  for (let index = 0; index < positions.length; index += 3) {
    if (Number.isNaN(positions[index] + positions[index + 1] + positions[index + 2])) {
      positions.fill(NOWHERE, index, index + 3);
    }
  }
  return positions;
}

/** Vectors of two numbers get a third. */
function inThree(numbers, axes, third) {
  if (axes === 3) {
    return numbers;
  }
  const made = new numbers.constructor((numbers.length / 2) * 3).fill(third);
  for (let from = 0, to = 0; from < numbers.length; from += 2, to += 3) {
    made[to] = numbers[from];
    made[to + 1] = numbers[from + 1];
  }
  return made;
}

/** Those lines or triangles whose corners all have a place. */
export function withPlace(corners, positions, each) {
  const kept = [];
  let all = true;
  for (let index = 0; index < corners.length; index += each) {
    let here = true;
    for (let k = 0; k < each; k++) {
      here &&= positions[3 * corners[index + k]] !== NOWHERE;
    }
    all &&= here;
    kept.push(here);
  }
  return all ? corners : corners.filter((_, index) => kept[Math.floor(index / each)]);
}

/** Positions as a graphics device gets them, for the matrix that `forDevice` makes. */
export function placesForDevice({ middle, unit }, positions) {
  const places = new Float32Array(positions.length);
  for (let index = 0; index < positions.length; index++) {
    const position = positions[index];
    places[index] = position === NOWHERE ? NOWHERE : (position - middle[index % 3]) / unit;
  }
  return places;
}

/** Segments as the positions and colours of both ends of each. */
export function segmentsOf({ positions, shades, corners }) {
  const ends = new Float64Array(3 * corners.length);
  const colours = new Uint32Array(corners.length);
  const from = new Uint32Array(shades.buffer);
  for (let index = 0; index < corners.length; index++) {
    const corner = corners[index];
    ends[3 * index] = positions[3 * corner];
    ends[3 * index + 1] = positions[3 * corner + 1];
    ends[3 * index + 2] = positions[3 * corner + 2];
    colours[index] = from[corner];
  }
  return { ends, colours: new Uint8Array(colours.buffer) };
}

/** Arrows as segments between -1 and 1: their barbs lie in the plane of the picture. */
export function arrowSegments({ positions, vectors, shades, count }, matrix, width, height) {
  const ends = [];
  const colours = [];
  const from = new Uint32Array(shades.buffer);
  const add = (a, b, colour) => {
    ends.push((2 * a[0]) / width - 1, 1 - (2 * a[1]) / height, a[2], (2 * b[0]) / width - 1, 1 - (2 * b[1]) / height, b[2]);
    colours.push(colour, colour);
  };
  for (let index = 0; index < count; index++) {
    const [x, y, z] = positions.subarray(3 * index, 3 * index + 3);
    const [u, v, w] = vectors.subarray(3 * index, 3 * index + 3);
    if (x === NOWHERE || !Number.isFinite(u + v + w)) {
      continue;
    }
    const tail = onScreen(matrix, width, height, x, y, z);
    const tip = onScreen(matrix, width, height, x + u, y + v, z + w);
    const length = Math.hypot(tip[0] - tail[0], tip[1] - tail[1]);
    if (length < 0.5 || tail[3] <= 0 || tip[3] <= 0) {
      continue;
    }
    add(tail, tip, from[index]);
    const angle = Math.atan2(tip[1] - tail[1], tip[0] - tail[0]);
    const head = Math.min(HEAD * length, LONGEST_HEAD);
    for (const side of [-SPREAD, SPREAD]) {
      const barb = [tip[0] - head * Math.cos(angle + side), tip[1] - head * Math.sin(angle + side), tip[2]];
      add(tip, barb, from[index]);
    }
  }
  return { ends: Float32Array.from(ends), colours: new Uint8Array(Uint32Array.from(colours).buffer) };
}

/** The edges of the box of a picture of three dimensions. */
export function edgesOf(bounds, ink) {
  const corners = [];
  for (let corner = 0; corner < 8; corner++) {
    for (let axis = 0; axis < 3; axis++) {
      if (!(corner & (1 << axis))) {
        corners.push(corner, corner | (1 << axis));
      }
    }
  }
  const positions = Float64Array.from({ length: 24 }, (_, index) => {
    const axis = index % 3;
    return bounds[axis][(Math.floor(index / 3) >> axis) & 1];
  });
  const arrays = {};
  const shades = shadesOf(arrays, null, 8, null, ink);
  return { kind: 'lines', count: 8, positions, shades, size: 1, corners: Uint32Array.from(corners), vectors: null };
}
