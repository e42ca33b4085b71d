/** Drawn elements: SVG of the page itself, which no font has to contain. */

const SVG = 'http://www.w3.org/2000/svg';
// In a square of 16 by 16.
const SIGNS = {
  play: 'M4 2v12l10-6z',
  pause: 'M3 2h4v12H3zM9 2h4v12H9z',
  repeat: 'M8 3a5 5 0 0 1 4.6 3H10v1.8h5.6V2h-1.8v2.4A6.8 6.8 0 1 0 14.8 8.9H13A5 5 0 1 1 8 3z',
};

/** An element of a drawing. */
export function drawing(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, String(value));
  }
  return made;
}

/** The sign of what a button does, in the colour of its text. */
export function sign(name) {
  const made = drawing('svg', { viewBox: '0 0 16 16', class: 'dsim-view-sign', 'data-sign': name, 'aria-hidden': 'true' });
  made.append(drawing('path', { d: SIGNS[name], fill: 'currentColor' }));
  return made;
}
