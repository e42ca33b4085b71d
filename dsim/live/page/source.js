/** Frames that are in the page itself, behind what a widget's model offers: no kernel answers. */
import { fromBase64 } from './decode.js';

export class EmbeddedSource {
  /** `frames` are headers and deflated buffers. */
  constructor({ scene, frames }) {
    this.scene = scene;
    this.frames = frames;
    this.listeners = new Set();
    this.begun = false;
  }

  get(name) {
    return this[name];
  }

  on(_event, listener) {
    this.listeners.add(listener);
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

  async give(number) {
    const found = this.frames[number];
    if (found !== undefined) {
      const data = await inflated(fromBase64(found.data));
      this.say({ type: 'frame', header: { ...found.header, frame: number } }, [data]);
    }
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
