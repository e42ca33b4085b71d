/** Sends the newest of many messages, one at a time: the next one after the answer to the last. */

const ANSWER = 1000; // milliseconds after which none is waited for

export class Latest {
  constructor(send, clock = () => performance.now()) {
    this.send = send;
    this.clock = clock;
    this.sent = null; // when, while no answer has come
    this.waiting = null;
  }

  offer(message) {
    if (this.sent === null || this.clock() - this.sent > ANSWER) {
      this.go(message);
    } else {
      this.waiting = message;
    }
  }

  /** The answer has come. */
  answered() {
    const next = this.waiting;
    this.sent = this.waiting = null;
    if (next !== null) {
      this.go(next);
    }
  }

  /** Sends at once, in place of what waits. */
  go(message) {
    this.waiting = null;
    this.sent = this.clock();
    this.send(message);
  }
}
