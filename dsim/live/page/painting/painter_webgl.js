/** Draws shapes by WebGL 2. */
import { forDevice } from './camera.js';
import { arrowSegments, pixelsAcross, placesForDevice, segmentsOf } from './shapes.js';
import { program } from './shaders.js';
import { Splats, splattable } from './splats.js';

const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
const CORNERS_OF_A_QUAD = 4;
const BY_PROGRAM = /swiftshader|llvmpipe|softpipe|software|basic render/i; // names of devices that are programs

export class WebGLPainter {
  /** A painter, or null where the browser has no WebGL 2. Edges of lines and triangles need several `samples` a pixel. */
  static make(samples) {
    const canvas = document.createElement('canvas');
    const gl = canvas.getContext('webgl2', { antialias: samples, alpha: true, premultipliedAlpha: true });
    try {
      return gl === null || gl.isContextLost() ? null : new WebGLPainter(canvas, gl);
    } catch (error) {
      console.warn(error);
      return null;
    }
  }

  constructor(canvas, gl) {
    this.name = 'webgl';
    this.canvas = canvas;
    this.gl = gl;
    this.begin();
  }

  /** What a new context needs. */
  begin() {
    const { gl } = this;
    this.loaded = [];
    const said = gl.getExtension('WEBGL_debug_renderer_info');
    this.byProgram = said !== null && BY_PROGRAM.test(gl.getParameter(said.UNMASKED_RENDERER_WEBGL));
    this.programs = Object.fromEntries(['points', 'segments', 'mesh', 'cells'].map(name => [name, program(gl, name)]));
    gl.bindVertexArray(gl.createVertexArray());
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 4);
  }

  load(shapes) {
    this.stale = true;
    this.shapes = shapes;
  }

  draw(picture) {
    const { gl } = this;
    if (gl.isContextLost()) {
      return;
    }
    const { camera, matrix } = picture;
    const seen = { ...picture, device: forDevice(camera, matrix) };
    if (this.stale) {
      this.upload(camera);
    }
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl[camera.turns ? 'enable' : 'disable'](gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    this.loaded.forEach((buffers, index) => this[DRAWN_BY[this.shapes[index].kind]](this.shapes[index], buffers, seen));
  }

  // -- what lies in the memory of the device

  upload(camera) {
    const { gl } = this;
    while (this.loaded.length > this.shapes.length) {
      this.free(this.loaded.pop());
    }
    this.shapes.forEach((shape, index) => {
      const buffers = (this.loaded[index] ??= {});
      if (shape.cells !== undefined) {
        this.texture(buffers, shape);
      } else if (shape.kind === 'lines') {
        const { ends, colours } = segmentsOf(shape);
        this.fill(buffers, 'positions', placesForDevice(camera, ends));
        this.fill(buffers, 'shades', colours);
      } else if (shape.kind !== 'arrows') {
        this.fill(buffers, 'positions', placesForDevice(camera, shape.positions));
        this.fill(buffers, 'shades', shape.shades);
        if (shape.sizes) {
          this.fill(buffers, 'sizes', shape.sizes);
        }
        if (shape.kind === 'mesh') {
          this.fill(buffers, 'corners', shape.corners, gl.ELEMENT_ARRAY_BUFFER);
        }
      }
    });
    this.stale = false;
  }

  fill(buffers, name, data, target = this.gl.ARRAY_BUFFER) {
    const { gl } = this;
    buffers[name] ??= gl.createBuffer();
    gl.bindBuffer(target, buffers[name]);
    gl.bufferData(target, data, gl.STREAM_DRAW);
  }

  texture(buffers, { image, cells: [width, height] }) {
    this.image(buffers, new Uint8Array(image.buffer), width, height);
  }

  image(buffers, bytes, width, height) {
    const { gl } = this;
    if (buffers.texture === undefined) {
      buffers.texture = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, buffers.texture);
      for (const [name, value] of Object.entries({
        MIN_FILTER: 'NEAREST', MAG_FILTER: 'NEAREST', WRAP_S: 'CLAMP_TO_EDGE', WRAP_T: 'CLAMP_TO_EDGE',
      })) {
        gl.texParameteri(gl.TEXTURE_2D, gl[`TEXTURE_${name}`], gl[value]);
      }
    }
    gl.bindTexture(gl.TEXTURE_2D, buffers.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  }

  free({ texture, splats: _, ...buffers }) {
    if (texture !== undefined) {
      this.gl.deleteTexture(texture);
    }
    Object.values(buffers).forEach(buffer => this.gl.deleteBuffer(buffer));
  }

  // -- each kind of shape

  /** Takes a program; `numbers` are its uniforms. */
  run(name, matrix, numbers) {
    const { gl } = this;
    const { made, uniforms } = this.programs[name];
    gl.useProgram(made);
    gl.uniformMatrix4fv(uniforms.matrix, false, matrix);
    for (const [uniform, value] of Object.entries(numbers)) {
      gl[`uniform${value.length}f`](uniforms[uniform], ...value);
    }
  }

  /** Attribute number `at` from a buffer; `each` is 1 where it is that of an instance. */
  attribute(at, buffer, { size = 3, stride = 0, offset = 0, each = 0 } = {}) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(at);
    const bytes = size === 4;
    gl.vertexAttribPointer(at, size, bytes ? gl.UNSIGNED_BYTE : gl.FLOAT, bytes, stride, offset);
    gl.vertexAttribDivisor(at, each);
  }

  only(count) {
    for (let at = 0; at < 4; at++) {
      if (at >= count) {
        this.gl.disableVertexAttribArray(at);
      }
    }
  }

  drawPoints(shape, buffers, seen) {
    const { turns, reference, unit } = seen.camera;
    const across = pixelsAcross(shape, seen) * seen.ratio;
    if (this.byProgram && splattable(shape, seen, across)) {
      this.drawSplats(shape, buffers, seen, across);
      return;
    }
    const numbers = { size: [across], reference: [turns ? reference / unit : reference], least: [turns ? 0.5 : 0.05] };
    this.run('points', seen.device, numbers);
    this.only(2);
    this.attribute(0, buffers.positions);
    this.attribute(1, buffers.shades, { size: 4 });
    if (shape.sizes) {
      this.attribute(2, buffers.sizes, { size: 1 });
    } else {
      this.gl.vertexAttrib1f(2, 1);
    }
    this.gl.drawArrays(this.gl.POINTS, 0, shape.count);
  }

  drawSplats(shape, buffers, seen, across) {
    const { width, height } = this.canvas;
    buffers.splats = Splats.of(buffers.splats, this.canvas);
    buffers.splats.draw(shape, seen, across);
    this.image(buffers, new Uint8Array(buffers.splats.pixels.buffer), width, height);
    this.run('cells', IDENTITY, { box: [-1, -1, 1, 1] });
    this.only(0);
    this.gl.drawArrays(this.gl.TRIANGLE_STRIP, 0, CORNERS_OF_A_QUAD);
  }

  drawLines(shape, buffers, seen) {
    this.drawSegments(buffers, shape.corners.length / 2, seen.device, pixelsAcross(shape, seen), seen);
  }

  drawArrows(shape, buffers, seen) {
    const { ends, colours } = arrowSegments(shape, seen.matrix, seen.width, seen.height);
    this.fill(buffers, 'positions', ends);
    this.fill(buffers, 'shades', colours);
    this.drawSegments(buffers, ends.length / 6, IDENTITY, shape.size, seen);
  }

  drawSegments({ positions, shades }, count, matrix, size, seen) {
    const { gl, canvas } = this;
    this.run('segments', matrix, { pixels: [canvas.width, canvas.height], size: [size * seen.ratio] });
    this.only(4);
    this.attribute(0, positions, { stride: 24, each: 1 });
    this.attribute(1, positions, { stride: 24, offset: 12, each: 1 });
    this.attribute(2, shades, { size: 4, stride: 8, each: 1 });
    this.attribute(3, shades, { size: 4, stride: 8, offset: 4, each: 1 });
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, CORNERS_OF_A_QUAD, count);
  }

  drawMesh(shape, buffers, seen) {
    const { gl } = this;
    this.run('mesh', seen.device, { lit: [seen.camera.turns ? 1 : 0] });
    this.only(2);
    this.attribute(0, buffers.positions);
    this.attribute(1, buffers.shades, { size: 4 });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers.corners);
    gl.drawElements(gl.TRIANGLES, shape.corners.length, gl.UNSIGNED_INT, 0);
  }

  drawCells(shape, buffers, seen) {
    const [[left, right], [low, high]] = shape.box;
    const [x, y, , xEnd, yEnd] = placesForDevice(seen.camera, [left, low, 0, right, high, 0]);
    this.run('cells', seen.device, { box: [x, y, xEnd, yEnd] });
    this.only(0);
    this.gl.bindTexture(this.gl.TEXTURE_2D, buffers.texture);
    this.gl.drawArrays(this.gl.TRIANGLE_STRIP, 0, CORNERS_OF_A_QUAD);
  }

  close() {
    this.loaded.forEach(buffers => this.free(buffers));
    this.loaded = [];
    // A page has few contexts: this one is given back now.
    this.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}

const DRAWN_BY = { points: 'drawPoints', lines: 'drawLines', arrows: 'drawArrows', mesh: 'drawMesh', grid: 'drawCells', image: 'drawCells' };
