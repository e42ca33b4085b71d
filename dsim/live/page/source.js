/** Frames that are in the page itself, behind what a widget's model offers: no kernel answers. */
import { fromBase64 } from './decode.js';
import { restored } from './delta_coding.js';

export class EmbeddedSource {
  /** `frames` are headers and deflated bytes. */
  constructor({ scene, frames }) {
    this.scene = scene;
    this.frames = frames;
    this.listeners = new Set();
    this.begun = false;
    this.decoded = new Map(); // the buffers of the last two frames, by their places
    this.work = Promise.resolve();
  }

  get(name) {
    return this[name];
  }

  on(event, listener) {
    if (event === 'msg:custom') {
      this.listeners.add(listener);
    }
  }

  off(_event, listener) {
    this.listeners.delete(listener);
  }

  /** What a kernel does with a message of the page. */
  send(message) {
    if (message.type === 'visible' && message.visible && !this.begun) {
      this.begun = true;
      this.say({ type: 'recorded', count: this.frames.length });
      return this.give(this.frames.length - 1);
    }
    return message.type === 'want' ? this.give(message.frame) : undefined;
  }

  /** Frames are given one after the other, since each may need what the one before has left. */
  give(number) {
    if (this.frames[number] !== undefined) {
      const next = () => this.decode(number);
      this.work = this.work.then(next, next);
    }
    return this.work;
  }

  async decode(number) {
    if (!this.decoded.has(number)) {
      for (let place = this.firstFor(number); place <= number; place++) {
        const { header, order, data } = this.frames[place];
        const before = [this.decoded.get(place - 1), this.decoded.get(place - 2)];
        const buffer = restored(header, order, await inflated(fromBase64(data)), before);
        this.decoded = new Map([[place - 1, before[0]], [place, buffer]]);
      }
    }
    const header = { ...this.frames[number].header, frame: number };
    this.say({ type: 'frame', header }, [this.decoded.get(number)]);
  }

  /** Where decoding begins: at the frame itself if what it needs is there, else at one that needs none before. */
  firstFor(number) {
    const needed = Array.from({ length: this.frames[number].order }, (_, back) => this.decoded.get(number - 1 - back));
    let place = number;
    if (needed.includes(undefined)) {
      while (this.frames[place].order > 0) {
        place -= 1;
      }
    }
    return place;
  }

  say(message, buffers = []) {
    this.listeners.forEach(listener => listener(message, buffers));
  }
}

/** The bytes that zlib has deflated. */
async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
