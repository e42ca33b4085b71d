/** What a person does by the keyboard in the place of the pointer: selects points and cells, moves and paints. */
import { inWorld, onScreen } from '../painting/camera.js';
import { element, say, shortNumber } from '../dom.js';
import { NOWHERE } from '../painting/shapes.js';

const STEP = 8; // pixels
const FOLLOWS = 1000; // milliseconds in which a picture follows
const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
export const KEYS = 'Enter selects the next one, arrow keys move it, Space paints a cell, Escape lets go';

/** What Enter selects after `at`, or before it where `by` is -1: a point with a place, or a grid's cell. */
export function nextPlace(shapes, at, by) {
  const places = shapes.flatMap((shape, layer) => {
    if (shape.layer?.paint && shape.cells) {
      return [{ layer, cell: shape.cells.map(count => Math.floor(count / 2)) }];
    }
    const drawn = index => shape.positions[3 * index] !== NOWHERE;
    const dragged = shape.layer?.drag && shape.positions;
    return dragged ? Array.from({ length: shape.count }, (_, index) => ({ layer, index })).filter(({ index }) => drawn(index)) : [];
  });
  const here = at === null ? -1 : places.findIndex(({ layer, index }) => layer === at.layer && index === at.index);
  const next = here < 0 && by < 0 ? places.length - 1 : here + by;
  return places[(next + places.length) % places.length] ?? null;
}

/** `picture` has `shapes`, `camera`, `width`, `height` and a `hub`. */
export class KeyPointer {
  constructor(stage, picture) {
    this.stage = stage;
    this.picture = picture;
    this.at = null; // what is selected
    this.position = null; // where a key has moved a point to
    this.pressed = 0; // when, in milliseconds
    this.sent = undefined; // the last message, until the key is released
    this.mark = element('div', { class: 'dsim-view-mark', 'aria-hidden': 'true' });
    this.said = element('div', { class: 'dsim-view-said', role: 'status' });
    stage.addEventListener('keyup', () => this.finish());
    stage.addEventListener('blur', () => this.finish());
  }

  /** Whether the key means something here. */
  press({ key, shiftKey }) {
    if (key === 'Enter') {
      this.finish();
      this.position = null;
      this.at = nextPlace(this.picture.shapes, this.at, shiftKey ? -1 : 1);
      return this.tell();
    }
    if (this.at === null) {
      return false;
    }
    if (key === 'Escape') {
      this.finish();
      this.at = null;
      say(this.said, '');
      this.picture.hub.redraw();
      return true;
    }
    if (DIRECTIONS[key] !== undefined) {
      this[this.at.cell === undefined ? 'movePoint' : 'moveCell'](DIRECTIONS[key]);
      return this.tell();
    }
    if (key === ' ' && this.at.cell !== undefined) {
      this.send('start', { type: 'paint', layer: this.at.layer, cell: this.at.cell, erase: shiftKey });
      return this.tell('painted');
    }
    return false;
  }

  movePoint([right, up]) {
    const { camera, width, height } = this.picture;
    const matrix = camera.matrix(width, height);
    const begins = this.sent === undefined;
    const now = performance.now();
    // The picture may not follow yet from the press before.
    const from = this.position !== null && now - this.pressed < FOLLOWS ? this.position : this.place();
    this.pressed = now;
    const [left, top, depth] = onScreen(matrix, width, height, ...from);
    this.position = inWorld(matrix, width, height, left + STEP * right, top - STEP * up, depth);
    const position = this.position.slice(0, camera.turns ? 3 : 2);
    this.send(begins ? 'start' : 'move', { type: 'drag', ...this.at, position });
  }

  moveCell(by) {
    const { cells } = this.picture.shapes[this.at.layer];
    const cell = this.at.cell.map((at, axis) => Math.min(Math.max(at + by[axis], 0), cells[axis] - 1));
    this.at = { ...this.at, cell };
  }

  /** A key was released. */
  finish() {
    if (this.sent !== undefined) {
      this.send('end', this.sent);
      this.sent = undefined;
    }
  }

  send(phase, message) {
    this.sent = message;
    this.picture.hub.pointing[phase === 'move' ? 'offer' : 'go']({ ...message, phase });
  }

  /** Where what is selected is, in the world. */
  place() {
    const shape = this.picture.shapes[this.at.layer];
    if (this.at.cell === undefined) {
      return Array.from(shape.positions.subarray(3 * this.at.index, 3 * this.at.index + 3));
    }
    return [...this.at.cell.map((at, axis) => {
      const [low, high] = shape.box[axis];
      return low + ((at + 0.5) * (high - low)) / shape.cells[axis];
    }), 0];
  }

  /** Says to screen readers what is selected. */
  tell(how = '') {
    if (this.at === null) {
      return false;
    }
    const { layer, of } = this.picture.shapes[this.at.layer];
    const which = of === undefined ? `point ${this.at.index}` : 'a point'; // of those that are drawn
    const numbers = (this.position ?? this.place()).slice(0, this.picture.camera.turns ? 3 : 2).map(shortNumber);
    const name = this.at.cell === undefined ? `${which} of ${layer.label} at ${numbers.join(', ')}` : `cell ${this.at.cell.join(', ')} of ${layer.label}`;
    say(this.said, [name, how].filter(Boolean).join(' '));
    this.picture.hub.redraw();
    return true;
  }

  /** Shows the mark where what is selected is. */
  draw() {
    const { shapes, camera, width, height } = this.picture;
    const shape = this.at && shapes[this.at.layer];
    if (shape && this.at.cell === undefined && this.at.index >= shape.count) {
      this.at = null; // there are fewer now
    }
    this.mark.hidden = this.at === null;
    if (this.at === null) {
      return;
    }
    if (this.mark.parentNode !== this.stage) {
      this.stage.append(this.mark); // another painter has taken the stage
    }
    const [left, top] = onScreen(camera.matrix(width, height), width, height, ...this.place());
    this.mark.style.left = `${left}px`;
    this.mark.style.top = `${top}px`;
  }
}
