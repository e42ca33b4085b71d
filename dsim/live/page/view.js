/** What anywidget asks for. */
import { hubOf } from './hub.js';
import { Picture } from './picture.js';

export default {
  initialize({ model }) {
    const hub = hubOf(model);
    return () => hub.close();
  },
  render({ model, el }) {
    const picture = new Picture(hubOf(model), el);
    return () => picture.close();
  },
};
