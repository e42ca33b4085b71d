/** The controls of a player. */
import { element, say } from '../dom.js';
import { sign } from '../drawing.js';
import { SPEEDS } from './player.js';

export class PlayerBar {
  /** `changed` is called when a person has done something to `player`. */
  constructor(player, changed) {
    this.player = player;
    this.play = element('button', { type: 'button', class: 'dsim-view-play' });
    this.slider = element('input', { type: 'range', min: '0', step: '1', 'aria-label': 'recorded frame' });
    this.said = element('span', { class: 'dsim-view-at' });
    this.speed = element('select', { 'aria-label': 'speed' }, ...SPEEDS.map(s => element('option', { value: String(s) }, `${s}×`)));
    this.loop = element('button', { type: 'button', class: 'dsim-view-loop', 'aria-label': 'repeat', title: 'repeat' }, sign('repeat'));
    this.place = element('div', { class: 'dsim-view-player', role: 'group', 'aria-label': 'player' });
    this.place.append(this.play, this.slider, this.said, this.speed, this.loop);
    const on = (control, event, act) =>
      control.addEventListener(event, () => {
        act();
        changed();
      });
    on(this.play, 'click', () => player.toggle());
    on(this.slider, 'input', () => player.seek(Number(this.slider.value)));
    on(this.speed, 'change', () => (player.speed = Number(this.speed.value)));
    on(this.loop, 'click', () => (player.loop = !player.loop));
    this.update();
  }

  update() {
    const { player } = this;
    this.place.hidden = player.count < 2;
    const does = player.playing ? 'pause' : 'play';
    if (this.play.title !== does) {
      this.play.replaceChildren(sign(does));
      this.play.setAttribute('aria-label', does);
      this.play.title = does;
    }
    this.slider.max = String(Math.max(player.count - 1, 0));
    this.slider.value = String(player.at);
    const said = `${(player.at + 1).toLocaleString('en')} / ${player.count.toLocaleString('en')}`;
    this.slider.setAttribute('aria-valuetext', said.replace('/', 'of'));
    say(this.said, said);
    this.speed.value = String(player.speed);
    this.loop.setAttribute('aria-pressed', String(player.loop));
  }
}
