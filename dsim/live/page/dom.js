/** Elements of the page; text is never taken for HTML. */

/** An element with attributes and children; texts among them are shown as they are. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Sets a text where it differs. */
export function say(place, text) {
  if (place.textContent !== text) {
    place.textContent = text;
  }
}

/** A number as people read it. */
export function shortNumber(number) {
  return Number.isFinite(number) ? String(Number(number.toPrecision(4))).replace('-', '−') : '';
}

/** Calls `changed` when a pixel of the page has another number of the screen's; what it gives ends that. */
export function onZoom(changed) {
  let now;
  const zoomed = () => {
    now?.removeEventListener('change', zoomed);
    if (now !== undefined) {
      changed();
    }
    now = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    now.addEventListener('change', zoomed);
  };
  zoomed();
  return () => now.removeEventListener('change', zoomed);
}
