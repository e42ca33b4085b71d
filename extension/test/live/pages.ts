import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const PAGE = join(import.meta.dirname, '..', '..', '..', 'dsim', 'live', 'page');

/** A module of the page's half of `dsim.live`, which has no types, by its path from there. */
export const load = (name: string): Promise<any> => import(pathToFileURL(join(PAGE, name)).href);
