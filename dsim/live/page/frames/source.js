/** Frames that are in the page itself, behind what a widget's model offers: no kernel answers. */
import { fromBase64, inflated } from './decode.js';
import { restored } from './delta_coding.js';
import { ElementNorms, marked } from './element_norms.js';

export class EmbeddedSource {
  /** `frames` are headers and deflated bytes. */
  constructor({ scene, frames }) {
    this.scene = scene;
    this.frames = frames;
    this.listeners = { 'msg:custom': new Set(), 'change:followed': new Set() };
    this.places = frames.map(({ header }) => header.number); // of frames among all steps
    this.norms = scene.elements === undefined ? null : new ElementNorms(scene.elements);
    this.element = null; // that is followed
    this.followed = {}; // its name and norms
    this.begun = false;
    this.decoded = new Map(); // the buffers of the last two frames, by their places
    this.work = Promise.resolve();
  }

  get(name) {
    return this[name];
  }

  on(event, listener) {
    this.listeners[event]?.add(listener);
  }

  off(event, listener) {
    this.listeners[event]?.delete(listener);
  }

  /** What a kernel does with a message of the page. */
  send(message) {
    if (message.type === 'visible' && message.visible && !this.begun) {
      this.begun = true;
      this.say({ type: 'recorded', count: this.frames.length });
      this.follow(this.scene.elements?.followed ?? null);
      return this.give(this.frames.length - 1);
    }
    if (message.type === 'pick') {
      const picked = this.norms?.picked(this.scene, message) ?? null;
      return this.follow(picked === this.element ? null : picked);
    }
    return message.type === 'want' ? this.give(message.frame) : undefined;
  }

  /** Follows an element of the trajectory; null follows none. */
  follow(element) {
    if (element === this.element) {
      return this.work;
    }
    this.element = element;
    return this.next(async () => {
      this.followed = element === null ? {} : await this.norms.curve(element);
      this.listeners['change:followed'].forEach(listener => listener());
    });
  }

  /** Frames are given one after the other, since each may need what the one before has left. */
  give(number) {
    return this.frames[number] === undefined ? this.work : this.next(() => this.decode(number));
  }

  /** One thing after the other. */
  next(act) {
    this.work = this.work.then(act, act);
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
    const frame = { header: { ...this.frames[number].header, frame: number }, data: this.decoded.get(number) };
    const { header, data } = this.followed.norms === undefined ? frame : marked(this.scene, frame, this.element, this.followed);
    this.say({ type: 'frame', header }, [data]);
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
    this.listeners['msg:custom'].forEach(listener => listener(message, buffers));
  }
}
