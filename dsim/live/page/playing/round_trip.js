/** A player of a trajectory: forwards through its states, then backwards with their adjoints. */
import { Player } from './player.js';

export class RoundTrip extends Player {
  constructor() {
    super();
    this.following = false;
    this.back = false;
  }

  /** Whether states alone are shown: adjoints come back from the end. */
  get statesOnly() {
    return this.playing && !this.back;
  }

  grow(count) {
    this.count = count;
    this.at = Math.max(0, Math.min(this.at, count - 1));
  }

  seek(frame) {
    super.seek(frame);
    this.following = false;
  }

  toggle() {
    this.playing = !this.playing && this.count > 1;
    this.part = 0;
    if (this.playing && (this.at === 0 || this.at === this.count - 1)) {
      this.back = this.at > 0;
    }
  }

  tick(seconds) {
    if (!this.playing) {
      return false;
    }
    const steps = this.due(seconds);
    const last = this.count - 1;
    this.at += this.back ? -steps : steps;
    if (!this.back && this.at >= last) {
      this.back = true;
      this.at = last;
    } else if (this.back && this.at <= 0) {
      this.back = false;
      this.at = 0;
      this.playing = this.loop;
    }
    return steps > 0;
  }
}
