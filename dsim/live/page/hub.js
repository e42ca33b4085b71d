/** One for each view: takes its frames, draws the newest in all pictures of it, and answers. */
import { KeptFrames } from './frames/kept_frames.js';
import { Latest } from './latest.js';
import { Player } from './playing/player.js';
import { RoundTrip } from './playing/round_trip.js';
import { Sight } from './sight.js';
import { looksOf, shapesOf } from './painting/shapes.js';

const hubs = new WeakMap();

/** The hub of a model. What anywidget gives is another object at each call, the scene is the same. */
export function hubOf(model) {
  const scene = model.get('scene');
  let hub = hubs.get(scene);
  if (hub === undefined) {
    hub = new Hub(model, scene);
    hubs.set(scene, hub);
  }
  return hub;
}

export class Hub {
  constructor(model, scene) {
    this.model = model;
    this.scene = scene;
    this.looks = looksOf(scene);
    this.player = scene.chart === undefined ? new Player() : new RoundTrip();
    this.pictures = new Set();
    this.newest = null; // the header and the bytes of the frame that is shown
    this.page = crypto.randomUUID?.() ?? String(Math.random()); // a notebook may be open in two
    this.kept = new KeptFrames(); // those that were played
    this.failed = false; // the last message
    this.unanswered = 0; // the number of the last frame that the program sent
    this.listening = false; // whether a program that runs wants keys and the pointer
    this.sight = new Sight(message => this.send(message));
    this.before = null;
    this.wants = new Latest(frame => this.want(frame));
    this.pointing = new Latest(message => this.send(message));
    this.hear = (message, buffers) => this.heard(message, buffers);
    this.look = () => this.looked();
    this.check = () => this.redraw();
    model.on('msg:custom', this.hear);
    model.on('comm_live_update', this.check);
    this.follow = () => this.played();
    model.on('change:followed', this.follow);
    this.reframe = () => this.reframed();
    model.on('change:scene', this.reframe);
    document.addEventListener('visibilitychange', this.look);
  }

  close() {
    this.model.off('msg:custom', this.hear);
    this.model.off('comm_live_update', this.check);
    this.model.off('change:followed', this.follow);
    this.model.off('change:scene', this.reframe);
    document.removeEventListener('visibilitychange', this.look);
    this.sight.heard();
    hubs.delete(this.scene);
    cancelAnimationFrame(this.request);
  }

  /** Whether there is a kernel: one that was restarted knows no view of before. */
  get live() {
    return !this.failed && ![...this.pictures].some(({ place }) => place.closest('.jupyter-widgets-disconnected'));
  }

  send(message) {
    try {
      this.model.send({ ...message, page: this.page });
      this.failed = false;
    } catch {
      this.failed = true; // the front end has closed the way to the kernel
      this.redraw();
    }
  }

  /** Asks for a frame of the recording; without a kernel, what the page was given is played. */
  want(frame) {
    if (this.live) {
      this.send({ type: 'want', frame });
    }
    if (!this.live) {
      this.newest = this.kept.near(frame) ?? this.newest;
      this.wants.answered();
      this.redraw();
    }
  }

  /** The element of a trajectory that is followed; null without one. */
  get followed() {
    const given = this.model.get('followed');
    return given?.norms === undefined ? null : given;
  }

  // -- pictures

  add(picture) {
    this.pictures.add(picture);
    this.redraw();
  }

  remove(picture) {
    this.pictures.delete(picture);
    this.looked();
  }

  /** The bounds have grown, of which a scene alone changes. */
  reframed() {
    hubs.delete(this.scene);
    this.scene = this.model.get('scene');
    hubs.set(this.scene, this);
    for (const picture of this.pictures) {
      picture.reframe();
    }
    this.redraw();
  }

  /** A picture came into sight, or went out of it. */
  looked() {
    this.sight.tell(document.visibilityState === 'visible' && [...this.pictures].some(picture => picture.inSight));
    this.redraw();
  }

  // -- frames

  heard(message, buffers) {
    this.sight.heard();
    if (message.type === 'recorded') {
      this.player.grow(message.count);
      if (this.player instanceof RoundTrip) {
        this.wants.offer(this.player.at);
      }
      this.redraw();
    } else if (message.type === 'frame') {
      this.took(message.header, buffers[0]);
    } else if (message.type === 'listening') {
      this.listening = message.listening;
      this.redraw();
    }
  }

  took(header, data) {
    const asked = header.frame !== undefined;
    if (asked && header.page !== undefined && header.page !== this.page) {
      return;
    }
    this.listening = header.listening ?? false;
    if (asked) {
      this.wants.answered();
    } else {
      this.unanswered = header.number;
      this.pointing.answered();
      if (header.recorded > 0) {
        this.player.grow(header.recorded);
      }
      if (header.renewed) {
        this.renewed();
      }
    }
    if (asked) {
      this.kept.add(header.frame, { header, data });
    }
    const { following, at } = this.player;
    if (asked ? !following || header.frame === at : following || this.newest === null) {
      this.newest = { header, data };
    }
    this.redraw();
  }

  /** All frames of the recording have other numbers now. */
  renewed() {
    this.kept = new KeptFrames();
    if (!this.player.following) {
      this.wants.offer(this.player.at);
    }
  }

  /** Something of the player has changed. */
  played() {
    if (this.player.count > 0) {
      this.wants.offer(this.player.at);
    }
    this.redraw();
  }

  redraw() {
    this.request ??= requestAnimationFrame(now => {
      this.request = undefined;
      this.draw(now);
    });
  }

  draw(now) {
    const { player } = this;
    if (player.playing && this.sight.visible) {
      const seconds = this.before === null ? 0 : Math.min((now - this.before) / 1000, 0.25);
      if (player.tick(seconds)) {
        this.wants.offer(player.at);
      }
      this.before = now;
      this.redraw();
    } else {
      this.before = null;
    }
    const seen = [...this.pictures].filter(picture => picture.inSight);
    if (seen.length > 0) {
      seen.forEach(picture => picture.draw());
      if (this.unanswered) {
        this.send({ type: 'drawn', number: this.unanswered });
        this.unanswered = 0;
      }
    }
  }

  /** The shapes of the frame that is shown, in a picture whose text has the colour `ink`. */
  shapes(ink) {
    const { newest } = this;
    if (newest.ink !== ink) {
      newest.shapes = shapesOf(this.scene, this.looks, newest.header, newest.data, ink);
      newest.ink = ink;
    }
    return newest.shapes;
  }
}
