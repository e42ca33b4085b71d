/** Where a point of the world is in the picture, and back. Matrices have 16 numbers, column by column. */

const FIELD_OF_VIEW = Math.PI / 6;
const STEEPEST = (89 * Math.PI) / 180;
const ZOOMS = [0.2, 20];
const DEPTH = 1e-6; // of a flat picture: its matrix has an inverse

/** A picture of two dimensions, which has the same scale along both. */
export class FlatCamera {
  constructor(bounds) {
    this.bounds = bounds;
    const [[left, right], [low, high]] = bounds;
    this.middle = [(left + right) / 2, (low + high) / 2, 0];
    this.unit = Math.max(right - left, high - low) / 2 || 1;
    this.turns = false;
    this.reference = 1;
  }

  /** The pixels of a unit of the world. */
  scale(width, height) {
    const [[left, right], [low, high]] = this.bounds;
    return Math.min(width / (right - left || 1), height / (high - low || 1));
  }

  /** From the world to between -1 and 1. */
  matrix(width, height) {
    const scale = this.scale(width, height);
    const across = (2 * scale) / width;
    const upwards = (2 * scale) / height;
    const [x, y] = this.middle;
    return [across, 0, 0, 0, 0, upwards, 0, 0, 0, 0, DEPTH, 0, -x * across, -y * upwards, 0, 1];
  }
}

/** A picture of three dimensions, seen from a point that turns around its middle; axis 1 is upwards. */
export class OrbitCamera {
  constructor(bounds) {
    this.middle = bounds.map(([low, high]) => (low + high) / 2);
    this.radius = Math.hypot(...bounds.map(([low, high]) => (high - low) / 2)) || 1;
    this.unit = this.radius;
    this.turns = true;
    this.reset();
  }

  reset() {
    this.yaw = Math.PI / 6;
    this.pitch = Math.PI / 9;
    this.zoom = 1;
  }

  turn(yaw, pitch) {
    this.yaw += yaw;
    this.pitch = Math.min(Math.max(this.pitch + pitch, -STEEPEST), STEEPEST);
  }

  enlarge(factor) {
    this.zoom = Math.min(Math.max(this.zoom * factor, ZOOMS[0]), ZOOMS[1]);
  }

  /** How far away the middle is: what is there has its nominal size. */
  get reference() {
    return this.radius / Math.sin(FIELD_OF_VIEW / 2) / this.zoom;
  }

  /** From the world to between -1 and 1, after division by the distance. */
  matrix(width, height) {
    const distance = this.reference;
    const away = [Math.cos(this.pitch) * Math.sin(this.yaw), Math.sin(this.pitch), Math.cos(this.pitch) * Math.cos(this.yaw)];
    const right = [Math.cos(this.yaw), 0, -Math.sin(this.yaw)];
    const up = cross(away, right);
    const eye = this.middle.map((middle, axis) => middle + distance * away[axis]);
    const rows = [right, up, away];
    const seen = [0, 1, 2].flatMap(axis => [...rows.map(row => row[axis]), 0]);
    seen.push(...rows.map(row => -dot(row, eye)), 1);
    return product(perspective(width / height, distance, this.radius), seen);
  }
}

function perspective(aspect, distance, radius) {
  const near = distance / 50;
  const far = distance + 4 * radius;
  // The narrower side has the field of view.
  const focus = 1 / Math.tan(FIELD_OF_VIEW / 2);
  const [across, upwards] = aspect < 1 ? [focus, focus * aspect] : [focus / aspect, focus];
  return [across, 0, 0, 0, 0, upwards, 0, 0, 0, 0, (near + far) / (near - far), -1, 0, 0, (2 * near * far) / (near - far), 0];
}

function cross(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

function dot(a, b) {
  return a.reduce((sum, each, index) => sum + each * b[index], 0);
}

/** The matrix that first does `b`, then `a`. */
export function product(a, b) {
  return Array.from({ length: 16 }, (_, index) =>
    [0, 1, 2, 3].reduce((sum, k) => sum + a[4 * k + (index % 4)] * b[4 * Math.floor(index / 4) + k], 0)
  );
}

/**
 * A camera's `matrix` for a graphics device, which has numbers of 32 bits: it takes places as they are seen from
 * the middle of the world, in half of its extent. That is the unit of distances from the eye, too.
 */
export function forDevice({ middle, unit, turns }, matrix) {
  const placed = product(matrix, [unit, 0, 0, 0, 0, unit, 0, 0, 0, 0, turns ? unit : 1, 0, ...middle, 1]);
  return turns ? placed.map(each => each / unit) : placed;
}

/** Where a point is in a picture of that size: pixels from the left, pixels from the top, depth, distance. */
export function onScreen(matrix, width, height, x, y, z) {
  const [across, upwards, depth, distance] = [0, 1, 2, 3].map(
    row => matrix[row] * x + matrix[4 + row] * y + matrix[8 + row] * z + matrix[12 + row]
  );
  return [((across / distance + 1) / 2) * width, ((1 - upwards / distance) / 2) * height, depth / distance, distance];
}

/** The point of the world at these pixels, at that depth. */
export function inWorld(matrix, width, height, left, top, depth) {
  const clip = [(2 * left) / width - 1, 1 - (2 * top) / height, depth, 1];
  const solved = solveFour(matrix, clip);
  return solved.slice(0, 3).map(number => number / solved[3]);
}

/** The vector that a matrix takes to `right`, by Gauss's elimination with pivots. */
function solveFour(matrix, right) {
  const rows = right.map((each, row) => [matrix[row], matrix[4 + row], matrix[8 + row], matrix[12 + row], each]);
  for (let column = 0; column < 4; column++) {
    const best = rows.slice(column).reduce((a, b) => (Math.abs(b[column]) > Math.abs(a[column]) ? b : a));
    rows.splice(rows.indexOf(best), 1);
    rows.splice(column, 0, best);
    for (const row of rows) {
      if (row !== best) {
        const factor = row[column] / best[column];
        row.forEach((_, index) => (row[index] -= factor * best[index]));
      }
    }
  }
  return rows.map((row, index) => row[4] / row[index]);
}
