/** The elements of a trajectory in a page without a kernel: their norms, and the mark of the one that is followed. */
import { fromBase64, inflated, numbersOf } from './decode.js';
import { join, signed } from './delta_coding.js';

const NOT_FINITE = 65535;
const LEVELS = NOT_FINITE - 2;
const CLICKED = ['points', 'arrows', 'grid'];

export class ElementNorms {
  /** `told` is what Python writes: see `element_norms.py`. */
  constructor(told) {
    this.told = told;
    this.codes = null;
  }

  /** The element at which a person has clicked; null where it is none. */
  picked({ layers }, { layer, index }) {
    const { kind, unpicked } = layers[layer];
    return CLICKED.includes(kind) && !unpicked && index < this.told.count ? index : null;
  }

  /** Its name, and its norm at each step: null where it is not finite. */
  async curve(element) {
    this.codes ??= await this.decode();
    const { count, steps, low, high } = this.told;
    const norms = Array.from({ length: steps }, (_, step) => {
      const code = this.codes[step * count + element];
      return code === 0 ? 0 : code === NOT_FINITE ? null : 2 ** (low + ((code - 1) / LEVELS) * (high - low));
    });
    return { name: this.named(element), norms, gradient: this.told.gradient };
  }

  async decode() {
    const { count, steps, data } = this.told;
    const codes = new Uint16Array(count * steps);
    join(codes, await inflated(fromBase64(data)));
    for (let index = count; index < codes.length; index++) {
      codes[index] = codes[index - count] + signed(codes[index]);
    }
    return codes;
  }

  named(element) {
    const index = [];
    let left = element;
    for (const size of [...this.told.shape].reverse()) {
      index.unshift(left % size);
      left = Math.floor(left / size);
    }
    return `${this.told.name}[${index.join(', ') || 'None'}]`;
  }
}

/** A frame in which an element is marked, and named in the text. */
export function marked(scene, { header, data }, element, { name, norms, gradient }) {
  const norm = norms[header.number];
  const told = norm === null ? 'not finite' : `‖${gradient}‖ ≈ ${Number(norm.toPrecision(3))}`;
  const places = placesOfElement(scene, header, data, element);
  const offset = Math.ceil(data.byteLength / 8) * 8;
  const made = new Uint8Array(offset + 8 * places.length);
  made.set(data);
  new Float64Array(made.buffer, offset).set(places);
  const positions = { type: 'f64', offset, shape: [places.length / scene.dimensions, scene.dimensions] };
  const layers = header.layers.map((layer, index) =>
    scene.layers[index].unpicked ? { ...layer, arrays: { ...layer.arrays, positions } } : layer
  );
  return { header: { ...header, layers, text: `${header.text} · ${name}: ${told}` }, data: made };
}

/** Where an element is: at its point, or in the cells of all grids. */
function placesOfElement(scene, header, data, element) {
  const layers = scene.layers.map((layer, index) => ({ layer, arrays: header.layers[index].arrays }));
  const grids = layers.filter(({ layer }) => layer.kind === 'grid');
  if (grids.length > 0) {
    return grids.flatMap(({ layer: { box }, arrays }) => {
      const [width, height] = arrays.values.shape;
      return [[Math.floor(element / height), width], [element % height, height]].map(([at, cells], axis) => {
        const [low, high] = box[axis];
        return low + ((at + 0.5) * (high - low)) / cells;
      });
    });
  }
  const { positions } = layers.find(({ layer }) => layer.kind === 'points' && !layer.unpicked).arrays;
  const axes = positions.shape[1];
  return [...numbersOf(positions, data, Float64Array).subarray(axes * element, axes * (element + 1))];
}
