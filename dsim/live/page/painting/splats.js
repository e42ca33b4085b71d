/** Draws small discs into an image: a graphics device that is a program takes three times as long for them. */
import { NOWHERE } from './shapes.js';

const PLACES = 4; // of a disc's middle within a pixel, along each axis
const ROUGH = 4; // discs differ in size by a fourth of a pixel
const STAMPS = 512; // stamps

const WIDEST = 12; // pixels
const MANY = 1000; // points

/** Whether an image is worth it for the points of a shape, whose discs are `across` pixels wide. */
export function splattable(shape, seen, across) {
  return !seen.camera.turns && !shape.sizes && across <= WIDEST && shape.count > MANY;
}

/** An image of `width` by `height` pixels, the lowest row first, with premultiplied colours. */
export class Splats {
  /** `kept` if it has this size, or another one. */
  static of(kept, { width, height }) {
    return kept?.width === width && kept.height === height ? kept : new Splats(width, height);
  }

  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.pixels = new Uint32Array(width * height);
    this.stamps = new Map();
  }

  clear() {
    this.pixels.fill(0);
  }

  /** The points of a shape, in place of what was there. */
  draw({ count, positions, shades }, { matrix }, across) {
    const { width, height } = this;
    const colours = new Uint32Array(shades.buffer, shades.byteOffset, count);
    this.clear();
    for (let point = 0; point < count; point++) {
      const x = positions[3 * point];
      if (x !== NOWHERE) {
        const right = ((matrix[0] * x + matrix[12] + 1) / 2) * width;
        const up = ((matrix[5] * positions[3 * point + 1] + matrix[13] + 1) / 2) * height;
        this.add(right, up, across, colours[point]);
      }
    }
  }

  /** A disc whose middle is (x, y), in pixels from the lower left corner, `across` wide, in the colour `shade`. */
  add(x, y, across, shade) {
    const { width, height, pixels } = this;
    const reach = across / 2 + 1;
    if (!(x > -reach && y > -reach && x < width + reach && y < height + reach)) {
      return;
    }
    const column = Math.floor(x);
    const row = Math.floor(y);
    const { right, up, cover } = this.stamp(across, Math.floor((x - column) * PLACES), Math.floor((y - row) * PLACES));
    const whole = column >= reach && row >= reach && column < width - reach - 1 && row < height - reach - 1;
    for (let each = 0; each < cover.length; each++) {
      const at = column + right[each];
      const level = row + up[each];
      if (whole || (at >= 0 && at < width && level >= 0 && level < height)) {
        const index = level * width + at;
        pixels[index] = over(shade, cover[each], pixels[index]);
      }
    }
  }

  /** Where the pixels of a disc are, and how much of each it covers, from 0 to 255. */
  stamp(across, right, up) {
    const size = Math.max(Math.round(across * ROUGH), ROUGH);
    const key = (size * PLACES + right) * PLACES + up;
    let stamp = this.stamps.get(key);
    if (stamp === undefined) {
      if (this.stamps.size >= STAMPS) {
        this.stamps.clear();
      }
      stamp = stampOf(size / ROUGH, (right + 0.5) / PLACES, (up + 0.5) / PLACES);
      this.stamps.set(key, stamp);
    }
    return stamp;
  }
}

function stampOf(across, x, y) {
  const reach = Math.ceil(across / 2) + 1;
  const found = [];
  for (let up = -reach; up <= reach; up++) {
    for (let right = -reach; right <= reach; right++) {
      const away = Math.hypot(right + 0.5 - x, up + 0.5 - y);
      const cover = Math.round(255 * Math.min(Math.max(across / 2 - away + 0.5, 0), 1));
      if (cover > 0) {
        found.push([right, up, cover]);
      }
    }
  }
  return {
    right: Int32Array.from(found, each => each[0]),
    up: Int32Array.from(found, each => each[1]),
    cover: Uint8Array.from(found, each => each[2]),
  };
}

/** A colour that covers so much of a pixel, over what is there. */
function over(shade, cover, under) {
  const alpha = ((shade >>> 24) * cover) / 255;
  if (alpha === 255) {
    return shade;
  }
  const rest = 1 - alpha / 255;
  const part = alpha / 255;
  const red = (shade & 255) * part + (under & 255) * rest;
  const green = ((shade >>> 8) & 255) * part + ((under >>> 8) & 255) * rest;
  const blue = ((shade >>> 16) & 255) * part + ((under >>> 16) & 255) * rest;
  const all = alpha + (under >>> 24) * rest;
  return ((red + 0.5) | ((green + 0.5) << 8) | ((blue + 0.5) << 16) | ((all + 0.5) << 24)) >>> 0;
}
