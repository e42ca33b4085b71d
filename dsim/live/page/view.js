/** What anywidget asks for: nothing is drawn yet. */

export default {
  render({ model, el }) {
    el.textContent = model.get('scene').title;
  },
};
