import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { load } from './pages.ts';

class Place {
  listeners = new Map<string, ((event: any) => void)[]>();
  clientLeft = 1;
  clientTop = 1;
  hidden = false;
  textContent = '';
  setAttribute() {}
  append() {}
  setPointerCapture() {}
  focus() {
    (globalThis as any).document.activeElement = this;
  }
  getBoundingClientRect() {
    return { left: 10, top: 20 };
  }
  addEventListener(name: string, listener: (event: any) => void) {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }
  fire(type: string, event: object = {}) {
    const made = { type, preventDefault() {}, stopPropagation() {}, getModifierState: () => false, ...event };
    this.listeners.get(type)?.forEach(listener => listener(made));
  }
}

(globalThis as any).document = { createElement: () => new Place(), activeElement: null };
const { FlatCamera } = await load('painting/camera.js');
const { WindowInput, belongsToProgram, keyName } = await load('input/window_input.js');

function begun() {
  const sent: any[][] = [];
  const bounds = [[0, 200], [0, 100]];
  const hub = { scene: { bounds }, send: ({ events }: any) => sent.push(events) };
  const stage = new Place();
  const input = new WindowInput(stage, { camera: new FlatCamera(bounds), width: 400, height: 200, hub });
  input.update(true);
  const told = () => sent.flat().map(({ type, key }: any) => [type, key]);
  return { sent, stage, input, told };
}

test('keys have the names of the dialect', () => {
  const names = ['a', 'A', '1', ' ', 'ArrowLeft', 'Enter', 'Escape', 'Shift', 'Control', 'CapsLock', 'Backspace', 'F5'].map(keyName);
  assert.deepEqual(names, ['a', 'a', '1', ' ', 'Left', 'Return', 'Escape', 'Shift', 'Control', 'Caps_Lock', 'BackSpace', 'F5']);
});

test('shortcuts and what leaves the picture stay with the browser', () => {
  const kept = [{ key: 'a' }, { key: 'ArrowUp' }, { key: 'a', ctrlKey: true }, { key: 'Tab' }, { key: 'F5' }].map(belongsToProgram);
  assert.deepEqual(kept, [true, true, false, false, false]);
});

test('a key is released under the name that it was pressed under', () => {
  const { stage, told } = begun();
  stage.fire('keydown', { key: 'Shift', code: 'ShiftLeft' });
  stage.fire('keydown', { key: '!', code: 'Digit1' });
  stage.fire('keydown', { key: 'Shift', code: 'ShiftRight' });
  stage.fire('keyup', { key: 'Shift', code: 'ShiftLeft' });
  stage.fire('keyup', { key: 'Shift', code: 'ShiftRight' });
  stage.fire('keyup', { key: '1', code: 'Digit1' });
  assert.deepEqual(told(), [
    ['Press', 'Shift'], ['Press', '!'], ['Press', 'Shift'], ['Release', 'Shift'], ['Release', '!'],
  ]);
});

test('who leaves the picture lets go of all', () => {
  const { stage, told, input } = begun();
  stage.fire('keydown', { key: 'a', code: 'KeyA' });
  stage.fire('pointerdown', { buttons: 1, clientX: 11, clientY: 21 });
  stage.fire('blur');
  assert.deepEqual(told(), [['Press', 'a'], ['Press', 'LMB'], ['Release', 'a'], ['Release', 'LMB']]);
  input.update(false);
  stage.fire('keydown', { key: 'b', code: 'KeyB' });
  assert.equal(told().length, 4);
});

test('buttons that are pressed together come one by one, at their places', () => {
  const { stage, sent, told } = begun();
  stage.fire('pointermove', { buttons: 1, clientX: 0, clientY: 0 }); // dragged here from elsewhere
  stage.fire('pointerdown', { buttons: 1, clientX: 111, clientY: 171 });
  stage.fire('pointermove', { buttons: 3, clientX: 211, clientY: 21 });
  stage.fire('pointerup', { buttons: 0, clientX: 411, clientY: 221 });
  assert.deepEqual(told(), [
    ['Motion', 'Motion'], ['Press', 'LMB'], ['Press', 'RMB'], ['Motion', 'Motion'], ['Release', 'LMB'], ['Release', 'RMB'],
  ]);
  const places = sent.flat().map(({ pos }: any) => pos.map((each: number) => Number(each.toFixed(6))));
  assert.deepEqual(places.slice(1), [[0.25, 0.25], [0.5, 1], [0.5, 1], [1, 0], [1, 0]]);
});

test('motions in a burst are one, and turns of the wheel add up', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { stage, sent } = begun();
  for (const clientX of [21, 31, 211]) {
    stage.fire('pointermove', { buttons: 0, clientX, clientY: 21 });
  }
  assert.equal(sent.length, 0);
  mock.timers.tick(20);
  assert.equal(sent.flat().length, 1);
  assert.equal(sent.flat()[0].pos[0], 0.5);
  stage.fire('wheel', { deltaX: 0, deltaY: 3, deltaMode: 1, clientX: 0, clientY: 0 });
  assert.equal(sent.flat().length, 1, 'nobody has gone to the picture');
  stage.focus();
  stage.fire('wheel', { deltaX: 0, deltaY: 3, deltaMode: 1, clientX: 0, clientY: 0 });
  stage.fire('wheel', { deltaX: 0, deltaY: -100, deltaMode: 0, clientX: 0, clientY: 0 });
  mock.timers.tick(20);
  assert.deepEqual(sent.flat()[1].delta, [-0, -20]);
  mock.timers.reset();
});
