"""Private names of classes: in the methods of a class `C`, Python takes ``self.__k`` for ``self._C__k``."""

from __future__ import annotations

import ast
import types

_FIELDS: dict[type[ast.AST], str] = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.arg: "arg",
    ast.keyword: "arg",
    ast.FunctionDef: "name",
}


def spell_out(node: ast.AST, code: types.CodeType) -> None:
    """Gives private names in `node`, a function's text, those that they have in its `code`."""
    parts = code.co_qualname.split(".")
    owner = parts[-2].lstrip("_") if len(parts) > 1 and parts[-2] != "<locals>" else ""
    if not owner:
        return
    for inner in ast.walk(node):
        field = _FIELDS.get(type(inner))
        name = getattr(inner, field) if field is not None and inner is not node else None
        if name is not None and name.startswith("__") and not name.endswith("__"):
            setattr(inner, field, f"_{owner}{name}")  # type: ignore[arg-type]
