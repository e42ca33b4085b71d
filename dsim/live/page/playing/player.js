/** Where a player of recorded frames is: no page, no clock. */

const RATE = 30; // frames a second at speed 1
export const SPEEDS = [0.25, 0.5, 1, 2, 4];

export class Player {
  constructor() {
    this.count = 0;
    this.at = 0;
    this.playing = false;
    this.following = true; // the program that records
    this.loop = false;
    this.speed = 1;
    this.part = 0; // of a frame
  }

  /** The recording has so many frames now. */
  grow(count) {
    this.count = count;
    this.at = Math.max(0, this.following ? count - 1 : Math.min(this.at, count - 1));
  }

  /** Goes to a frame; whoever goes to the last one sees those that come. */
  seek(frame) {
    this.at = Math.max(0, Math.min(Math.round(frame), this.count - 1));
    this.part = 0;
    this.following = !this.playing && this.at === this.count - 1;
  }

  toggle() {
    this.playing = !this.playing && this.count > 1;
    if (this.playing) {
      this.following = false;
      this.at = this.at >= this.count - 1 ? 0 : this.at;
      this.part = 0;
    }
  }

  /** Time has passed; whether another frame is due. */
  tick(seconds) {
    if (!this.playing) {
      return false;
    }
    const steps = this.due(seconds);
    const next = this.at + steps;
    if (next < this.count) {
      this.at = next;
    } else if (this.loop) {
      this.at = next % this.count;
    } else {
      this.at = this.count - 1;
      this.playing = false;
      this.following = true;
    }
    return steps > 0;
  }

  /** How many frames have become due. */
  due(seconds) {
    this.part += seconds * RATE * this.speed;
    const steps = Math.floor(this.part);
    this.part -= steps;
    return steps;
  }

  /** What a key does; whether it does anything. */
  press(key) {
    const act = {
      ' ': () => this.toggle(),
      ArrowLeft: () => this.seek(this.at - 1),
      ArrowRight: () => this.seek(this.at + 1),
      PageDown: () => this.seek(this.at - 10),
      PageUp: () => this.seek(this.at + 10),
      Home: () => this.seek(0),
      End: () => this.seek(this.count - 1),
    }[key];
    if (act === undefined || this.count === 0) {
      return false;
    }
    act();
    return true;
  }
}
