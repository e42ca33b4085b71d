/** The buffers of frames that are written as differences from those before them. */
import { codesOf } from './decode.js';

const ALIGNED = 4;

/** The buffer of a frame from its bytes, and from the buffers of the two frames before, the newest first. */
export function restored(header, order, bytes, before) {
  const described = header.layers.flatMap(layer => Object.values(layer.arrays));
  const buffer = new Uint8Array(sizeOf(described));
  let from = 0;
  for (const each of described) {
    const codes = codesOf(each, buffer);
    const planes = bytes.subarray(from, from + codes.byteLength);
    from += codes.byteLength;
    join(codes, planes);
    if (order > 0) {
      predict(codes, before.slice(0, order).map(earlier => codesOf(each, earlier)));
    }
  }
  return buffer;
}

function sizeOf(described) {
  const ends = described.map(each => each.offset + each.shape.reduce((product, size) => product * size, 1) * BYTES[each.type]);
  return Math.ceil(Math.max(0, ...ends) / ALIGNED) * ALIGNED;
}

const BYTES = { u8: 1, u16: 2, u32: 4 };

/** A difference whose sign is in the lowest bit. */
export function signed(code) {
  return (code >>> 1) ^ -(code & 1);
}

/** All low bytes, then all of the next ones, as numbers. */
export function join(codes, planes) {
  const { length } = codes;
  for (let plane = 0; plane < codes.BYTES_PER_ELEMENT; plane++) {
    const start = plane * length;
    for (let index = 0; index < length; index++) {
      codes[index] |= planes[start + index] << (8 * plane);
    }
  }
}

/** Adds to differences what the frames before predict; a typed array counts modulo the size of its numbers. */
function predict(codes, [before, earlier]) {
  for (let index = 0; index < codes.length; index++) {
    const difference = signed(codes[index]);
    const moved = earlier === undefined ? 0 : before[index] - earlier[index];
    codes[index] = before[index] + moved + difference;
  }
}
