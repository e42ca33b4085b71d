/**
 * What draws shapes: by WebGL 2 where the browser has it, and else on a canvas of two dimensions.
 *
 * Where a program takes the place of a graphics device, a picture without edges takes half the time on such a canvas.
 */
import { CanvasPainter } from './painter_canvas.js';
import { WebGLPainter } from './painter_webgl.js';

const PATIENCE = 1000; // milliseconds until a lost context is given up

/** Keeps a painter in `place`: another one when the browser takes its context away for good. */
export class Painting {
  constructor(place, redraw, samples) {
    this.place = place;
    this.redraw = redraw;
    this.shapes = [];
    this.use(painterFor(samples));
  }

  use(painter) {
    this.painter = painter;
    this.place.dataset.painter = painter.name;
    this.place.replaceChildren(painter.canvas);
    painter.load(this.shapes);
    painter.canvas.addEventListener('webglcontextlost', event => {
      event.preventDefault();
      this.waiting = setTimeout(() => this.fallBack(), PATIENCE);
    });
    painter.canvas.addEventListener('webglcontextrestored', () => {
      clearTimeout(this.waiting);
      painter.begin();
      painter.load(this.shapes);
      this.redraw();
    });
  }

  fallBack() {
    if (this.painter.name === 'webgl') {
      this.use(new CanvasPainter());
      this.redraw();
    }
  }

  load(shapes) {
    this.shapes = shapes;
    this.painter.load(shapes);
  }

  /** `seen` has the `camera`, and the `width` and `height` of the picture in CSS pixels. */
  draw(seen) {
    const ratio = globalThis.devicePixelRatio || 1;
    const { canvas } = this.painter;
    const [width, height] = [seen.width, seen.height].map(size => Math.max(1, Math.round(size * ratio)));
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    this.painter.draw({ ...seen, matrix: seen.camera.matrix(seen.width, seen.height), ratio });
  }

  close() {
    clearTimeout(this.waiting);
    this.painter.close();
  }
}

/** Edges of lines and triangles need several `samples` a pixel. */
function painterFor(samples) {
  const painter = WebGLPainter.make(samples);
  if (painter === null || (painter.byProgram && !samples)) {
    painter?.close();
    return new CanvasPainter();
  }
  return painter;
}
