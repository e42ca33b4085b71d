/** Draws shapes on a canvas of two dimensions, where there is no WebGL 2, or only by a program. */
import { arrowSegments, NOWHERE, pixelsAcross, segmentsOf } from './shapes.js';
import { onScreen } from './camera.js';
import { Splats, splattable } from './splats.js';

const SAME = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
const LIGHT = [0.36, 0.8, 0.48];

export class CanvasPainter {
  constructor() {
    this.name = 'canvas';
    this.canvas = document.createElement('canvas');
    this.context = this.canvas.getContext('2d');
    this.shapes = [];
    this.discs = new Map();
    this.splats = undefined; // of the last picture with many points
  }

  load(shapes) {
    this.shapes = shapes;
  }

  draw(seen) {
    const { context } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(this.canvas.width / seen.width, 0, 0, this.canvas.height / seen.height, 0, 0);
    for (const shape of this.shapes) {
      PAINTED_BY[shape.kind](this, shape, seen);
    }
  }

  /** A disc in a colour, drawn once. */
  disc(shade, size) {
    const key = `${shade}|${size}`;
    let disc = this.discs.get(key);
    if (disc === undefined) {
      if (this.discs.size > 4096) {
        this.discs.clear();
      }
      disc = document.createElement('canvas');
      disc.width = disc.height = Math.ceil(size) + 1;
      const context = disc.getContext('2d');
      context.fillStyle = styleOf(shade);
      context.arc(disc.width / 2, disc.width / 2, size / 2, 0, 2 * Math.PI);
      context.fill();
      this.discs.set(key, disc);
    }
    return disc;
  }

  close() {
    this.discs.clear();
    this.splats = undefined;
  }
}

/** Four bytes in one number, as CSS has it. */
function styleOf(shade) {
  return `rgb(${shade & 255}, ${(shade >> 8) & 255}, ${(shade >> 16) & 255})`;
}

/** The indices of `depths`, the farthest first. */
function farthestFirst(depths) {
  return Uint32Array.from(depths, (_, index) => index).sort((a, b) => depths[b] - depths[a]);
}

function placed(positions, { matrix, width, height }) {
  const count = positions.length / 3;
  return Array.from({ length: count }, (_, index) => {
    const at = 3 * index;
    return onScreen(matrix, width, height, positions[at], positions[at + 1], positions[at + 2]);
  });
}

function paintPoints(painter, shape, seen) {
  const across = pixelsAcross(shape, seen) * seen.ratio;
  if (splattable(shape, seen, across)) {
    paintSplats(painter, shape, seen, across);
  } else {
    paintDiscs(painter, shape, seen, across);
  }
}

function paintSplats(painter, shape, seen, across) {
  const { width, height } = painter.canvas;
  const splats = (painter.splats = Splats.of(painter.splats, painter.canvas));
  splats.draw(shape, seen, across);
  divideByAlpha(splats.pixels);
  const pixels = new Uint8ClampedArray(splats.pixels.buffer);
  paintImage(painter, { image: pixels, cells: [width, height], box: [[-1, 1], [-1, 1]] }, { ...seen, matrix: SAME });
}

/** Colours that were multiplied by their opacity, as a canvas takes them. */
function divideByAlpha(pixels) {
  for (let index = 0; index < pixels.length; index++) {
    const pixel = pixels[index];
    const alpha = pixel >>> 24;
    if (alpha > 0 && alpha < 255) {
      const share = 255 / alpha;
      const red = (pixel & 255) * share;
      const green = ((pixel >>> 8) & 255) * share;
      const blue = ((pixel >>> 16) & 255) * share;
      pixels[index] = ((red + 0.5) | ((green + 0.5) << 8) | ((blue + 0.5) << 16) | (alpha << 24)) >>> 0;
    }
  }
}

function paintDiscs(painter, shape, seen, size) {
  const shades = new Uint32Array(shape.shades.buffer);
  const places = placed(shape.positions, seen);
  const order = seen.camera.turns ? farthestFirst(places.map(place => place[2])) : null;
  const { context } = painter;
  const { ratio } = seen;
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  for (let index = 0; index < places.length; index++) {
    const point = order === null ? index : order[index];
    const [left, top, , distance] = places[point];
    if (shape.positions[3 * point] === NOWHERE || distance <= 0) {
      continue;
    }
    const across = size * (shape.sizes ? shape.sizes[point] : 1) * (seen.camera.reference / distance);
    const disc = painter.disc(shades[point], Math.max(Math.round(4 * across) / 4, 1));
    context.drawImage(disc, left * ratio - disc.width / 2, top * ratio - disc.width / 2);
  }
  context.restore();
}

function paintLines(painter, shape, seen) {
  const { ends, colours } = segmentsOf(shape);
  paintSegments(painter, ends, colours, pixelsAcross(shape, seen), seen);
}

function paintArrows(painter, shape, seen) {
  const { ends, colours } = arrowSegments(shape, seen.matrix, seen.width, seen.height);
  paintSegments(painter, ends, colours, shape.size, { ...seen, matrix: SAME });
}

function paintSegments({ context }, ends, colours, size, seen) {
  const shades = new Uint32Array(colours.buffer);
  const places = placed(ends, seen);
  context.lineWidth = size;
  context.lineCap = 'round';
  let style = null;
  for (let index = 0; index < places.length; index += 2) {
    const [a, b] = [places[index], places[index + 1]];
    if (a[3] <= 0 || b[3] <= 0) {
      continue;
    }
    if (shades[index] !== style) {
      if (style !== null) {
        context.stroke();
      }
      style = shades[index];
      context.beginPath();
      context.strokeStyle = styleOf(style);
    }
    context.moveTo(a[0], a[1]);
    context.lineTo(b[0], b[1]);
  }
  if (style !== null) {
    context.stroke();
  }
}

function paintMesh({ context }, shape, seen) {
  const places = placed(shape.positions, seen);
  const triangles = shape.corners.length / 3;
  const cornersOf = triangle => shape.corners.subarray(3 * triangle, 3 * triangle + 3);
  const depths = Array.from({ length: triangles }, (_, triangle) =>
    cornersOf(triangle).reduce((sum, corner) => sum + places[corner][2], 0)
  );
  const order = seen.camera.turns ? farthestFirst(depths) : depths.keys();
  context.lineWidth = 0.75;
  context.lineJoin = 'round';
  for (const triangle of order) {
    const corners = cornersOf(triangle);
    const [a, b, c] = Array.from(corners, corner => places[corner]);
    if (a[3] <= 0 || b[3] <= 0 || c[3] <= 0) {
      continue;
    }
    context.beginPath();
    context.moveTo(a[0], a[1]);
    context.lineTo(b[0], b[1]);
    context.lineTo(c[0], c[1]);
    context.closePath();
    context.fillStyle = context.strokeStyle = meanShade(shape, corners, seen.camera.turns);
    context.fill();
    context.stroke(); // else the background shines through the seams
  }
}

function meanShade({ positions, shades }, corners, lit) {
  const light = lit ? lightOn(positions, corners) : 1;
  const mean = [0, 1, 2].map(k => corners.reduce((sum, corner) => sum + shades[4 * corner + k], 0) / 3);
  return `rgb(${mean.map(each => Math.round(each * light)).join(', ')})`;
}

function lightOn(positions, corners) {
  const [a, b, c] = Array.from(corners, corner => positions.subarray(3 * corner, 3 * corner + 3));
  const [u, v] = [b, c].map(end => [0, 1, 2].map(axis => end[axis] - a[axis]));
  const normal = [0, 1, 2].map(k => u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3]);
  const length = Math.hypot(...normal);
  const facing = normal.reduce((sum, each, axis) => sum + each * LIGHT[axis], 0) / length;
  return length > 0 ? 0.55 + 0.45 * Math.abs(facing) : 1;
}

function paintImage({ context }, shape, seen) {
  const [width, height] = shape.cells;
  const cells = document.createElement('canvas');
  cells.width = width;
  cells.height = height;
  cells.getContext('2d').putImageData(new ImageData(shape.image, width, height), 0, 0);
  const [[left, right], [low, high]] = shape.box;
  const [x, y] = onScreen(seen.matrix, seen.width, seen.height, left, low, 0);
  const [xEnd, yEnd] = onScreen(seen.matrix, seen.width, seen.height, right, high, 0);
  context.save();
  context.imageSmoothingEnabled = false;
  context.translate(x, y);
  context.scale(xEnd - x, yEnd - y); // upwards
  context.drawImage(cells, 0, 0, 1, 1);
  context.restore();
}

const PAINTED_BY = {
  points: paintPoints, lines: paintLines, arrows: paintArrows, mesh: paintMesh, grid: paintImage, image: paintImage,
};
