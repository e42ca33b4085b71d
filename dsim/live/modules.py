"""The page's module: one file for a front end, several for whoever reads and tests them.

Each file below `page/` is a module of its own, which imports from others. anywidget takes one text: the files
are put together in the order in which they need one another, without their imports and exports.
"""

from __future__ import annotations

import posixpath
import re
from importlib.resources.abc import Traversable

_IMPORT = re.compile(r"^import \{[^}]*\} from '(\.{1,2}/[\w./]+)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


def module(folder: Traversable, first: str = "view.js") -> str:
    """The module `first` of a folder with all that it imports, as one text.

    Imports are written ``import { a, b } from './file.js';``, with the path from the file that imports; names
    are unique over all files.
    """
    done: list[str] = []
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in texts:
            return
        texts[name] = text = (folder / name).read_text(encoding="utf-8")
        for needed in _IMPORT.findall(text):
            add(posixpath.normpath(posixpath.join(posixpath.dirname(name), needed)))
        done.append(name)

    add(first)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", texts[name])) for name in done)
