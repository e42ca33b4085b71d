/** The programs of the graphics device. */

const FLAT_FRAGMENT = `
in vec4 shade;
out vec4 colour;
void main() { colour = vec4(shade.rgb * shade.a, shade.a); }`;

const SHADERS = {
  points: [
    `layout(location = 0) in vec3 place;
    layout(location = 1) in vec4 tone;
    layout(location = 2) in float each; // 1, or the size of each
    uniform mat4 matrix;
    uniform float size, reference;
    out vec4 shade;
    out float across;
    void main() {
      gl_Position = place.x > 1e29 ? vec4(2.0, 2.0, 2.0, 1.0) : matrix * vec4(place, 1.0);
      across = max(size * each * reference / gl_Position.w, 1.0);
      gl_PointSize = across + 1.0;
      shade = tone;
    }`,
    `in vec4 shade;
    in float across;
    uniform float least; // less cover hides what is behind for nothing
    out vec4 colour;
    void main() {
      float away = length(gl_PointCoord - 0.5) * (across + 1.0);
      float cover = clamp(0.5 * across - away + 0.5, 0.0, 1.0) * shade.a;
      if (cover < least) discard;
      colour = vec4(shade.rgb * cover, cover);
    }`,
  ],
  // A quad of `size` pixels around the segment; what is behind the eye is cut off.
  segments: [
    `layout(location = 0) in vec3 first;
    layout(location = 1) in vec3 last;
    layout(location = 2) in vec4 firstTone;
    layout(location = 3) in vec4 lastTone;
    uniform mat4 matrix;
    uniform vec2 pixels;
    uniform float size;
    out vec4 shade;
    void main() {
      vec4 a = matrix * vec4(first, 1.0);
      vec4 b = matrix * vec4(last, 1.0);
      const float least = 1e-4;
      if (a.w < least) a = mix(a, b, (least - a.w) / (b.w - a.w));
      if (b.w < least) b = mix(b, a, (least - b.w) / (a.w - b.w));
      vec2 along = (b.xy / b.w - a.xy / a.w) * pixels;
      along = length(along) > 0.0 ? normalize(along) : vec2(1.0, 0.0);
      bool end = gl_VertexID > 1;
      float side = (gl_VertexID & 1) == 1 ? 1.0 : -1.0;
      gl_Position = end ? b : a;
      vec2 shift = vec2(-along.y, along.x) * side + along * (end ? 0.5 : -0.5);
      gl_Position.xy += shift * size / pixels * gl_Position.w;
      shade = end ? lastTone : firstTone;
    }`,
    FLAT_FRAGMENT,
  ],
  mesh: [
    `layout(location = 0) in vec3 place;
    layout(location = 1) in vec4 tone;
    uniform mat4 matrix;
    out vec3 world;
    out vec4 shade;
    void main() {
      gl_Position = matrix * vec4(place, 1.0);
      world = place;
      shade = tone;
    }`,
    `in vec3 world;
    in vec4 shade;
    uniform float lit;
    out vec4 colour;
    void main() {
      vec3 normal = cross(dFdx(world), dFdy(world));
      float facing = length(normal) > 0.0 ? abs(dot(normalize(normal), vec3(0.36, 0.8, 0.48))) : 1.0;
      float light = mix(1.0, 0.55 + 0.45 * facing, lit);
      colour = vec4(shade.rgb * light * shade.a, shade.a);
    }`,
  ],
  cells: [
    `uniform mat4 matrix;
    uniform vec4 box;
    out vec2 at;
    void main() {
      at = vec2(gl_VertexID & 1, gl_VertexID >> 1);
      gl_Position = matrix * vec4(mix(box.xy, box.zw, at), 0.0, 1.0);
    }`,
    `in vec2 at;
    uniform sampler2D cells;
    out vec4 colour;
    void main() { colour = texture(cells, at); }`,
  ],
};

/** A program and the places of its uniforms. */
export function program(gl, name) {
  const made = gl.createProgram();
  const kinds = [gl.VERTEX_SHADER, gl.FRAGMENT_SHADER];
  SHADERS[name].forEach((source, index) => {
    const shader = gl.createShader(kinds[index]);
    gl.shaderSource(shader, `#version 300 es\nprecision highp float;\n${source}`);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  });
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`dsim: ${name}: ${gl.getProgramInfoLog(made)}`);
  }
  const count = gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS) ?? 0;
  const uniforms = {};
  for (let index = 0; index < count; index++) {
    const { name: uniform } = gl.getActiveUniform(made, index);
    uniforms[uniform] = gl.getUniformLocation(made, uniform);
  }
  return { made, uniforms };
}
