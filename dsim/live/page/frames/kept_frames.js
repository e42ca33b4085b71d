/** The frames that a page was given to play, for when its kernel has gone. */

const MOST = 64 * 2 ** 20; // bytes

export class KeptFrames {
  constructor(most = MOST) {
    this.most = most;
    this.frames = new Map(); // by number, in the order in which they came
    this.size = 0;
  }

  add(number, frame) {
    this.size += frame.data.byteLength - (this.frames.get(number)?.data.byteLength ?? 0);
    this.frames.delete(number);
    this.frames.set(number, frame);
    while (this.size > this.most && this.frames.size > 1) {
      const [first, { data }] = this.frames.entries().next().value;
      this.frames.delete(first);
      this.size -= data.byteLength;
    }
  }

  /** The frame with that number, or the one whose number is nearest. */
  near(number) {
    const nearest = [...this.frames.keys()].reduce(
      (best, each) => (best === null || Math.abs(each - number) < Math.abs(best - number) ? each : best),
      null
    );
    return nearest === null ? undefined : this.frames.get(nearest);
  }
}
