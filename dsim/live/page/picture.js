/** One picture of a view in the page: title, canvas, legend, text and player. */
import { FlatCamera, OrbitCamera } from './painting/camera.js';
import { element, onZoom, say } from './dom.js';
import { KEYS, KeyPointer } from './input/key_pointer.js';
import { Legend } from './painting/legend.js';
import { NormChart, nearestTo } from './playing/norm_chart.js';
import { Painting } from './painting/painter.js';
import { PlayerBar } from './playing/player_bar.js';
import { Pointer } from './input/pointer.js';
import { edgesOf } from './painting/shapes.js';
import { WindowInput } from './input/window_input.js';

const TALLEST = 480; // CSS pixels
const KEY_TURN = Math.PI / 36;
const KEY_ZOOM = 1.15;
const PROGRAM = 'Keys and the pointer go to the program; Tab leaves the picture';
const LOST = 'This view has no kernel any more: it shows what it has. Execute its cell again.';

export class Picture {
  constructor(hub, place) {
    this.hub = hub;
    this.place = place;
    this.inSight = false;
    this.shapes = [];
    const { scene } = hub;
    this.camera = cameraOf(scene);
    this.build(scene);
    this.painting = new Painting(this.stage, () => hub.redraw(), hasEdges(scene));
    new Pointer(this.stage, this);
    this.keys = new KeyPointer(this.stage, this);
    this.input = new WindowInput(this.stage, this);
    this.text.after(this.input.place);
    this.root.append(this.keys.said);
    this.watch();
    hub.add(this);
  }

  build(scene) {
    this.stage = element('div', { class: 'dsim-view-stage', role: 'img', tabindex: '0', 'aria-label': scene.title });
    this.takeHands(scene.layers.some(layer => layer.drag || layer.paint) ? KEYS : '');
    this.stage.classList.toggle('dsim-view-turns', this.camera.turns);
    this.shapeStage(scene);
    this.title = element('div', { class: 'dsim-view-title', title: scene.title }, scene.title);
    this.legend = new Legend(scene);
    this.text = element('div', { class: 'dsim-view-text' });
    this.lost = element('div', { class: 'dsim-view-lost', role: 'status' });
    this.bar = new PlayerBar(this.hub.player, () => this.hub.played());
    // JupyterLab's own keys (Home, arrows, letters) are not for a picture that has the focus.
    this.root = element('div', { class: 'dsim-view', role: 'group', 'aria-label': scene.title, 'data-lm-suppress-shortcuts': 'true' });
    this.root.append(this.title, this.stage, this.legend.place, this.text, this.bar.place, this.lost);
    if (scene.chart !== undefined) {
      this.addChart(scene.chart);
    }
    this.place.append(this.root);
    this.root.addEventListener('keydown', event => this.key(event));
  }

  shapeStage(scene) {
    const ratio = aspectOf(scene);
    this.stage.style.aspectRatio = String(ratio);
    this.stage.style.maxWidth = `${Math.round(TALLEST * ratio)}px`;
  }

  /** Shows other bounds. */
  reframe() {
    this.camera = cameraOf(this.hub.scene);
    this.shapeStage(this.hub.scene);
    this.shapes = []; // the box of a scene of three dimensions is one of them
  }

  /** Keys and the pointer mean what `described` says; nothing where it is empty. */
  takeHands(described) {
    this.stage.classList.toggle('dsim-view-touch', this.camera.turns || described !== '');
    if (described !== '') {
      this.stage.setAttribute('role', 'application'); // screen readers pass its keys on
      this.stage.setAttribute('aria-description', described);
    } else {
      this.stage.setAttribute('role', 'img');
      this.stage.removeAttribute('aria-description');
    }
  }

  /** The program that runs begins to want keys and the pointer, or wants them no more. */
  updateInput() {
    const listening = this.hub.listening && this.hub.live;
    if (listening !== this.input.listening) {
      this.input.update(listening);
      this.takeHands(listening ? PROGRAM : '');
    }
  }

  addChart(chart) {
    const { player } = this.hub;
    const places = this.hub.model.get('places') ?? chart.steps.map((_, place) => place); // of frames among the steps
    this.frameSteps = places;
    this.chart = new NormChart(chart, at => {
      player.playing = false;
      player.seek(nearestTo(places, at));
      this.hub.played();
    });
    this.root.append(this.chart.place);
  }

  watch() {
    const redraw = () => this.hub.redraw();
    this.resizes = new ResizeObserver(redraw);
    this.resizes.observe(this.stage);
    this.unzoom = onZoom(redraw);
    this.sights = new IntersectionObserver(([...entries]) => {
      this.inSight = entries.at(-1).isIntersecting;
      this.hub.looked();
    });
    this.sights.observe(this.stage);
    this.themes = new MutationObserver(redraw);
    this.themes.observe(document.body, { attributes: true });
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.dark.addEventListener('change', redraw);
    this.redraw = redraw;
  }

  close() {
    this.resizes.disconnect();
    this.unzoom();
    this.sights.disconnect();
    this.themes.disconnect();
    this.dark.removeEventListener('change', this.redraw);
    this.painting.close();
    this.input.update(false);
    this.root.remove();
    this.inSight = false;
    this.hub.remove(this);
  }

  draw() {
    this.bar.update();
    say(this.lost, this.hub.live ? '' : LOST);
    this.chart?.update(this.frameSteps[this.hub.player.at], this.hub.followed);
    this.width = this.stage.clientWidth;
    this.height = this.stage.clientHeight;
    if (this.hub.newest === null || this.width === 0 || this.height === 0) {
      return;
    }
    const ink = inkOf(this.root);
    const shapes = this.hub.shapes(ink);
    const { statesOnly } = this.hub.player;
    if (shapes !== this.shapes || statesOnly !== this.statesOnly) {
      this.shapes = shapes;
      this.statesOnly = statesOnly;
      const drawn = statesOnly ? shapes.filter(({ layer }) => !layer.backward) : shapes;
      const { bounds } = this.hub.scene;
      this.painting.load(this.camera.turns ? [...drawn, edgesOf(bounds, '#808080')] : drawn);
      this.legend.update(shapes);
      this.describe(this.hub.newest.header);
    }
    this.painting.draw(this);
    this.keys.draw();
    this.updateInput();
  }

  describe(header) {
    const step = header.step === null ? '' : `step ${header.step.toLocaleString('en')}`;
    say(this.text, [step, header.text, header.note].filter(Boolean).join(' · '));
    const { scene } = this.hub;
    const names = this.shapes.filter(shape => !shape.layer.inWorld).map(nameOf);
    this.stage.setAttribute('aria-label', [scene.title, ...names, this.text.textContent].filter(Boolean).join(', '));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (event.target !== this.stage) {
      if (!event.shiftKey) {
        event.stopPropagation(); // JupyterLab would take arrow keys from the slider
      }
      return;
    }
    if (this.keys.press(event)) {
      // it has asked for a picture
    } else if (this.turned(event)) {
      this.hub.redraw();
    } else if (this.hub.player.press(event.key)) {
      this.hub.played();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Arrows turn a picture of three dimensions; with Shift they go through the recording. */
  turned({ key, shiftKey }) {
    const { camera } = this;
    const act = {
      ArrowLeft: () => camera.turn(-KEY_TURN, 0),
      ArrowRight: () => camera.turn(KEY_TURN, 0),
      ArrowUp: () => camera.turn(0, KEY_TURN),
      ArrowDown: () => camera.turn(0, -KEY_TURN),
      '+': () => camera.enlarge(KEY_ZOOM),
      '=': () => camera.enlarge(KEY_ZOOM),
      '-': () => camera.enlarge(1 / KEY_ZOOM),
      0: () => camera.reset(),
    }[key];
    if (!camera.turns || act === undefined || (shiftKey && key.startsWith('Arrow'))) {
      return false;
    }
    act();
    return true;
  }
}

/** Whether a scene has more than discs and cells, whose edges are smooth by themselves: sampling takes twice the time of the rest. */
function hasEdges({ dimensions, layers }) {
  const smooth = ['points', 'grid', 'image'];
  return dimensions === 3 || layers.length === 0 || layers.some(({ kind }) => !smooth.includes(kind));
}

function nameOf({ count, layer, kind, cells }) {
  const what = kind === 'image' ? `image of ${cells.join(' × ')} pixels:` : `${count.toLocaleString('en')} ${kind === 'grid' ? 'cells' : kind} of`;
  return `${what} ${layer.label}`;
}

function cameraOf({ dimensions, bounds }) {
  return dimensions === 3 ? new OrbitCamera(bounds) : new FlatCamera(bounds);
}

function aspectOf({ dimensions, bounds }) {
  if (dimensions === 3) {
    return 4 / 3;
  }
  const [across, upwards] = bounds.map(([low, high]) => high - low);
  return Math.min(Math.max(across / upwards || 1, 0.5), 3);
}

/** The colour of text, as `#rrggbb`. */
function inkOf(root) {
  const numbers = getComputedStyle(root).color.match(/[\d.]+/g) ?? [];
  const bytes = [0, 1, 2].map(index => Math.round(Number(numbers[index] ?? 0)));
  return `#${bytes.map(each => each.toString(16).padStart(2, '0')).join('')}`;
}
