/** A page that plays a recording without a kernel. */
import { hubOf } from './hub.js';
import { Picture } from './picture.js';
import { EmbeddedSource } from './frames/source.js';

const recording = JSON.parse(document.getElementById('dsim-recording').textContent);
const shownView = new Picture(hubOf(new EmbeddedSource(recording)), document.getElementById('dsim-view'));
addEventListener('pagehide', event => event.persisted || shownView.close());
