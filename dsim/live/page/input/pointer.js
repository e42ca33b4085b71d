/** What a person does with the pointer: turns the picture, drags points, paints cells, picks. */
import { inWorld, onScreen } from '../painting/camera.js';
import { NOWHERE } from '../painting/shapes.js';

const NEAR = 10; // pixels
const TURN = 0.008; // radians a pixel
const CLICK = 4; // pixels that a click may move
const WHEEL = 0.0015;

/** The point nearest to these pixels, of those within reach: its index and depth; null where there is none. */
export function nearest(shape, matrix, width, height, left, top) {
  let found = null;
  let least = Math.max(NEAR, shape.size / 2 + 2);
  for (let index = 0; index < shape.count; index++) {
    const [x, y, z] = [0, 1, 2].map(axis => shape.positions[3 * index + axis]);
    if (x === NOWHERE) {
      continue;
    }
    const [atLeft, atTop, depth, distance] = onScreen(matrix, width, height, x, y, z);
    const away = Math.hypot(atLeft - left, atTop - top);
    if (away < least && distance > 0) {
      least = away;
      found = { index, depth };
    }
  }
  return found;
}

/** The cell of a grid at a point of the world; null outside. */
export function cellAt({ box, cells }, [x, y]) {
  const cell = [x, y].map((at, axis) => Math.floor(((at - box[axis][0]) / (box[axis][1] - box[axis][0])) * cells[axis]));
  return cell.every((number, axis) => number >= 0 && number < cells[axis]) ? cell : null;
}

/** Listens on `stage`; `picture` has `shapes`, `camera`, `width`, `height` and a `hub`. */
export class Pointer {
  constructor(stage, picture) {
    this.picture = picture;
    this.doing = null;
    stage.addEventListener('pointerdown', event => this.down(event, stage));
    stage.addEventListener('pointermove', event => this.moved(event));
    stage.addEventListener('pointerup', event => this.up(event));
    stage.addEventListener('pointercancel', () => this.finish());
    stage.addEventListener('wheel', event => this.wheel(event, stage), { passive: false });
    stage.addEventListener('dblclick', () => this.reset());
  }

  at(event) {
    const box = event.currentTarget.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  get matrix() {
    const { camera, width, height } = this.picture;
    return camera.matrix(width, height);
  }

  world([left, top], depth) {
    const { camera, width, height } = this.picture;
    const found = inWorld(this.matrix, width, height, left, top, depth);
    return camera.turns ? found : found.slice(0, 2);
  }

  down(event, stage) {
    if (event.button !== 0) {
      return;
    }
    const at = this.at(event);
    this.begin = this.before = at;
    this.erase = event.shiftKey;
    this.clicked = true;
    this.doing = this.dragging(at) ?? this.painting(at) ?? (this.picture.camera.turns ? { kind: 'turn' } : { kind: 'none' });
    if (this.doing.kind !== 'none') {
      stage.setPointerCapture(event.pointerId);
    }
    this.tell(at, 'start');
  }

  dragging([left, top]) {
    const { shapes, width, height } = this.picture;
    for (let layer = shapes.length - 1; layer >= 0; layer--) {
      const shape = shapes[layer];
      const found = shape.layer?.drag && shape.positions && nearest(shape, this.matrix, width, height, left, top);
      if (found) {
        return { kind: 'drag', layer, ...found };
      }
    }
    return null;
  }

  painting(at) {
    const { shapes } = this.picture;
    const layer = shapes.findLastIndex(shape => shape.layer?.paint && shape.cells);
    return layer >= 0 && cellAt(shapes[layer], this.world(at, 0)) ? { kind: 'paint', layer } : null;
  }

  moved(event) {
    if (this.doing === null) {
      return;
    }
    const at = this.at(event);
    this.clicked &&= Math.hypot(at[0] - this.begin[0], at[1] - this.begin[1]) < CLICK;
    if (this.doing.kind === 'turn') {
      this.picture.camera.turn((this.before[0] - at[0]) * TURN, (at[1] - this.before[1]) * TURN);
      this.picture.hub.redraw();
    }
    this.before = at;
    this.tell(at, 'move');
  }

  up(event) {
    if (this.doing === null) {
      return;
    }
    if (this.clicked && !['drag', 'paint'].includes(this.doing.kind)) {
      this.pick(this.at(event));
    }
    this.before = this.at(event);
    this.finish();
  }

  finish() {
    if (this.doing !== null) {
      this.tell(this.before, 'end');
      this.doing = null;
    }
  }

  /** Tells the program what is dragged or painted. */
  tell(at, phase) {
    const { kind, layer, index, depth } = this.doing;
    const { hub, shapes } = this.picture;
    const message =
      kind === 'drag'
        ? { type: 'drag', layer, index, position: this.world(at, depth), phase }
        : kind === 'paint'
          ? { type: 'paint', layer, erase: this.erase, cell: cellAt(shapes[layer], this.world(at, 0)) ?? this.cell, phase }
          : null;
    if (message === null) {
      return;
    }
    this.cell = message.cell;
    hub.pointing[phase === 'move' ? 'offer' : 'go'](message);
  }

  pick([left, top]) {
    const { shapes, width, height, hub } = this.picture;
    for (let layer = shapes.length - 1; layer >= 0; layer--) {
      const shape = shapes[layer];
      if (shape.layer?.unpicked) {
        continue;
      }
      if (shape.cells !== undefined) {
        const cell = cellAt(shape, this.world([left, top], 0));
        if (cell !== null) {
          hub.send({ type: 'pick', layer, index: cell[0] * shape.cells[1] + cell[1] });
          return;
        }
      } else {
        const found = nearest(shape, this.matrix, width, height, left, top);
        if (found !== null) {
          hub.send({ type: 'pick', layer, index: found.index });
          return;
        }
      }
    }
  }

  /** A page scrolls through a picture that nobody has gone to. */
  wheel(event, stage) {
    const { camera, hub } = this.picture;
    if (camera.turns && (event.ctrlKey || stage === document.activeElement)) {
      event.preventDefault();
      camera.enlarge(Math.exp(-event.deltaY * WHEEL));
      hub.redraw();
    }
  }

  reset() {
    if (this.picture.camera.turns) {
      this.picture.camera.reset();
      this.picture.hub.redraw();
    }
  }
}
