/** The arrays of a frame, as typed arrays of numbers. */

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array };

/** The typed array of codes or numbers that `described` locates in a buffer; nothing is copied. */
export function codesOf(described, buffer) {
  const kind = TYPES[described.type];
  const count = described.shape.reduce((product, size) => product * size, 1);
  return new kind(buffer.buffer, buffer.byteOffset + described.offset, count);
}

/** The code that stands for a number that is not finite; null where the numbers are not quantised. */
export function missingCode(described) {
  return described.low === undefined ? null : described.type === 'u8' ? 255 : 65535;
}

/** The numbers of an array as an array of that kind, NaN where one is not finite. */
export function numbersOf(described, buffer, Kind = Float32Array) {
  const codes = codesOf(described, buffer);
  const missing = missingCode(described);
  if (missing === null) {
    return Kind.from(codes);
  }
  const lows = [described.low].flat();
  const steps = [described.high].flat().map((high, axis) => (high > lows[axis] ? high - lows[axis] : 1) / (missing - 1));
  const numbers = new Kind(codes.length);
  for (let index = 0; index < codes.length; index++) {
    const axis = index % lows.length;
    numbers[index] = codes[index] === missing ? NaN : lows[axis] + codes[index] * steps[axis];
  }
  return numbers;
}

/** A buffer as bytes, whatever the front end gave. */
export function bytesOf(buffer) {
  return buffer instanceof ArrayBuffer
    ? new Uint8Array(buffer)
    : new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/** The bytes of a text in base64. */
export function fromBase64(text) {
  return Uint8Array.from(atob(text), character => character.charCodeAt(0));
}

/** The bytes that zlib has deflated. */
export async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
