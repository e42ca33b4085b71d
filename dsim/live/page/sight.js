/** Tells the program whether the page shows a view, and again until it is heard. */

// Until a page has a thread of the kernel for its messages, they wait in that of the cells for the one that runs.
const AGAIN = [200, 800, 3000]; // milliseconds

export class Sight {
  constructor(send) {
    this.send = send;
    this.visible = false;
    this.number = 0; // a message that has waited must not count after a later one
  }

  tell(visible) {
    if (visible !== this.visible) {
      this.visible = visible;
      this.number += 1;
      this.say(AGAIN);
    }
  }

  say([wait, ...more]) {
    this.heard();
    if (this.visible && wait !== undefined) {
      this.timer = setTimeout(() => this.say(more), wait);
    }
    this.send({ type: 'visible', visible: this.visible, number: this.number });
  }

  /** The program has answered, or never will. */
  heard() {
    clearTimeout(this.timer);
  }
}
