/** What a person does in the window of a program: keys while it has the focus, the pointer and the wheel, in order. */
import { inWorld } from '../painting/camera.js';
import { element, say } from '../dom.js';

const BURST = 16; // milliseconds in which motions count as one
const PIXELS_OF = [1, 40, 800]; // a pixel, a line and a page of a wheel
const BUTTONS = [['LMB', 1], ['RMB', 2], ['MMB', 4]]; // and their bits
const MODIFIERS = ['Shift', 'Alt', 'Control'];
const UNNAMED = ['Dead', 'Process', 'Unidentified'];
const NAMES_OF_KEYS = {
  ArrowLeft: 'Left', ArrowRight: 'Right', ArrowUp: 'Up', ArrowDown: 'Down', Enter: 'Return', Backspace: 'BackSpace',
  CapsLock: 'Caps_Lock', PageUp: 'Page_Up', PageDown: 'Page_Down', Meta: 'Super',
};
const HAS_KEYS = 'the program has the keyboard; Tab leaves the picture';
const NO_KEYS = 'click the picture to give the program the keyboard';

/** What the dialect calls a key: letters are small. */
export function keyName(key) {
  return NAMES_OF_KEYS[key] ?? (key.length === 1 ? key.toLowerCase() : key);
}

/** Whether the browser does nothing with a key but what the program does: shortcuts and Tab are left to it. */
export function belongsToProgram({ key, ctrlKey, metaKey, altKey }) {
  return !(ctrlKey || metaKey || altKey || key === 'Tab' || /^F\d+$/.test(key));
}

/** `picture` has a `camera`, `width`, `height` and a `hub`. */
export class WindowInput {
  constructor(stage, picture) {
    this.stage = stage;
    this.picture = picture;
    this.listening = false;
    this.waiting = []; // events that are not sent yet
    this.held = new Map(); // the names of keys, by where they are
    this.buttons = 0;
    this.cursor = [0, 0];
    this.said = element('span');
    this.close = element('button', { type: 'button', class: 'dsim-view-close' }, 'close window');
    this.place = element('div', { class: 'dsim-view-input' }, this.close, this.said); // a text that changes moves no button
    this.place.hidden = true;
    this.close.addEventListener('click', event => this.add('Press', 'WMClose', event));
    this.listen();
  }

  listen() {
    const on = (names, act, options) => {
      const listener = event => this.listening && act(event);
      names.forEach(name => this.stage.addEventListener(name, listener, options));
    };
    on(['keydown'], event => this.pressed(event));
    on(['keyup'], event => this.released(event));
    on(['pointerdown', 'pointermove', 'pointerup', 'pointercancel'], event => this.pointed(event));
    on(['wheel'], event => this.turned(event), { passive: false });
    on(['mousedown'], event => event.button === 1 && event.preventDefault()); // no scrolling by the middle button
    on(['contextmenu'], event => {
      event.preventDefault();
      event.stopPropagation();
    });
    on(['blur'], event => this.letGo(event));
    on(['focus', 'blur'], () => this.tell());
  }

  /** Whether the program wants events now. */
  update(listening) {
    if (listening === this.listening) {
      return;
    }
    if (!listening) {
      this.letGo(null);
    }
    this.listening = listening;
    this.place.hidden = !listening;
    this.tell();
  }

  tell() {
    say(this.said, this.stage === document.activeElement ? HAS_KEYS : NO_KEYS);
  }

  // -- keys

  pressed(event) {
    if (event.isComposing || UNNAMED.includes(event.key)) {
      return;
    }
    const name = keyName(event.key);
    this.held.set(event.code || name, name);
    this.add('Press', name, event);
    if (belongsToProgram(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  released(event) {
    const where = event.code || keyName(event.key);
    const name = this.held.get(where);
    if (name === 'Super') {
      this.letGoOfKeys(event); // a system says nothing of keys that are released while this one is down
    } else if (name !== undefined) {
      this.held.delete(where);
      if (![...this.held.values()].includes(name)) {
        this.add('Release', name, event);
      }
    }
  }

  letGoOfKeys(event) {
    new Set(this.held.values()).forEach(name => this.add('Release', name, event));
    this.held.clear();
  }

  letGo(event) {
    this.letGoOfKeys(event);
    this.changed(0, event);
    this.flush();
  }

  // -- the pointer

  pointed(event) {
    this.cursor = this.at(event);
    if (event.type === 'pointerdown') {
      this.stage.focus({ preventScroll: true });
      this.stage.setPointerCapture(event.pointerId);
    }
    if (event.type === 'pointercancel') {
      this.changed(0, event);
    } else if (event.type === 'pointerdown' || this.buttons !== 0) {
      this.changed(event.buttons, event); // further buttons are told as motions
    }
    if (event.type === 'pointermove') {
      this.add('Motion', 'Motion', event);
    }
  }

  changed(buttons, event) {
    for (const [name, bit] of BUTTONS) {
      if ((buttons ^ this.buttons) & bit) {
        this.add(buttons & bit ? 'Press' : 'Release', name, event);
      }
    }
    this.buttons = buttons;
  }

  /** A page scrolls through a picture that nobody has gone to. */
  turned(event) {
    if (this.stage === document.activeElement) {
      event.preventDefault();
      event.stopPropagation();
      this.cursor = this.at(event);
      const pixels = PIXELS_OF[event.deltaMode];
      this.add('Motion', 'Wheel', event, { delta: [-pixels * event.deltaX, -pixels * event.deltaY] });
    }
  }

  /** Where an event is in the picture, from 0 to 1 to the right and upwards. */
  at(event) {
    const { camera, width, height, hub } = this.picture;
    const box = this.stage.getBoundingClientRect();
    const left = event.clientX - box.left - this.stage.clientLeft;
    const top = event.clientY - box.top - this.stage.clientTop;
    const world = inWorld(camera.matrix(width, height), width, height, left, top, 0);
    return hub.scene.bounds.map(([low, high], axis) => (world[axis] - low) / (high - low));
  }

  // -- to the program

  add(type, key, event, more = {}) {
    const modifier = MODIFIERS.filter(each => each !== key && event?.getModifierState?.(each));
    const told = { type, key, pos: this.cursor, modifier, ...more };
    const last = this.waiting.at(-1);
    if (type === 'Motion' && last?.key === key) {
      this.waiting.pop();
      if (key === 'Wheel') {
        told.delta = told.delta.map((each, axis) => each + last.delta[axis]);
      }
    }
    this.waiting.push(told);
    if (type === 'Motion') {
      this.timer ??= setTimeout(() => this.flush(), BURST);
    } else {
      this.flush();
    }
  }

  flush() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.waiting.length > 0) {
      this.picture.hub.send({ type: 'input', events: this.waiting });
      this.waiting = [];
    }
  }
}
