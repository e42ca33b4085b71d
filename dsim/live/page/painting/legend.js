/** What the colours of a picture mean: a bar with its limits for each map, a swatch for each other layer. */
import { element, say, shortNumber } from '../dom.js';
import { coloursOf } from './shades.js';

export class Legend {
  constructor(scene) {
    this.place = element('div', { class: 'dsim-view-legend' });
    const alone = scene.layers.length === 1;
    this.rows = scene.layers.map(layer => {
      const row = layer.map !== null ? barRow(scene, layer) : alone ? null : swatchRow(layer);
      if (row !== null) {
        this.place.append(row.place);
      }
      return row;
    });
  }

  update(shapes) {
    shapes.forEach((shape, index) => this.rows[index]?.update(shape));
  }
}

function barRow(scene, layer) {
  const bar = element('span', { class: 'dsim-view-bar', 'aria-hidden': 'true' });
  const colours = coloursOf(scene, layer);
  const stops = Array.from({ length: 33 }, (_, index) => {
    const at = 3 * Math.round((index * 255) / 32);
    return `rgb(${colours.slice(at, at + 3).join(', ')})`;
  });
  bar.style.background = `linear-gradient(to right, ${stops.join(', ')})`;
  const [low, high, note] = [0, 1, 2].map(() => element('span'));
  const place = element('div', { class: 'dsim-view-row' }, element('span', {}, layer.shows ?? layer.label), low, bar, high, note);
  return {
    place,
    update({ range }) {
      if (range !== null) {
        say(low, shortNumber(range.low));
        say(high, shortNumber(range.high));
        say(note, range.missing ? '(grey: not finite)' : '');
      }
    },
  };
}

function swatchRow(layer) {
  const swatch = element('span', { class: `dsim-view-swatch dsim-view-${layer.kind}`, 'aria-hidden': 'true' });
  const label = layer.label === layer.kind ? layer.label : `${layer.label} (${layer.kind})`;
  const place = element('div', { class: 'dsim-view-row' }, swatch, element('span', {}, label));
  return { place, update: ({ plain }) => (swatch.style.background = plain) };
}
