"""Whether a function's code was compiled from a source text: the text is compiled by Python and compared."""

from __future__ import annotations
import __future__

import ast
import dis
import inspect
import types
from collections.abc import Iterator
from itertools import pairwise

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag


def is_code_of(function: types.FunctionType, node: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether Python compiles `node` to the code of `function`.

    pytest rewrites the `assert`s of its modules; functions with them are trusted.
    """
    if "@pytest_ar" in function.__globals__ and any(isinstance(n, ast.Assert) for n in ast.walk(node)):
        return True
    try:
        made = _compiled(function.__code__, node)
    except RecursionError:  # nested so deeply that Python compiles it from a text only
        return True
    return made is not None and _alike(made, function.__code__)


def _compiled(code: types.CodeType, node: ast.FunctionDef | ast.Lambda) -> types.CodeType | None:
    """The code of `node` in a function that has the names of the closure of `code`."""
    free = [n for n in code.co_freevars if n.isidentifier()]
    args = _bare(node.args)
    made: ast.Expr | ast.FunctionDef | ast.ClassDef
    if isinstance(node, ast.Lambda):
        made = ast.Expr(ast.copy_location(ast.Lambda(args, node.body), node))
    else:
        made = ast.copy_location(_def(node.name, node.body, args), node)
    parts = code.co_qualname.split(".")
    if len(parts) > 1 and parts[-2] != "<locals>":  # private names are made longer by that of the class
        made = ast.ClassDef(name=parts[-2], bases=[], keywords=[], body=[made], decorator_list=[])
    names: list[ast.stmt] = [ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in free]
    if not isinstance(made, ast.Expr) and made.name not in free:
        names.append(ast.Global([made.name]))  # as in the module: else it were of the closure
    around = _def("around", [*names, made], ast.arguments([], [], None, [], [], None, []))
    tree = ast.fix_missing_locations(ast.Module([*_imports(code, node), around], []))
    try:
        module = compile(tree, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return _inside(module, code.co_name)


def _imports(code: types.CodeType, node: ast.AST) -> list[ast.stmt]:
    """Imports of the names that the module of `code` may have imported.

    Python compiles `a.f()` differently where the module imports `a`; `code` shows which case holds.
    """
    owners = set(_owners_of_methods(code))
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - owners - {"super", "__debug__"}
    return [ast.Import([ast.alias(name)]) for name in sorted(found)]


_OF_A_NAME = ("LOAD_FAST", "STORE_FAST_LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_FROM")


def _owners_of_methods(code: types.CodeType) -> Iterator[str]:
    for load, following in pairwise(dis.get_instructions(code)):
        as_method = following.opname == "LOAD_ATTR" and "NULL|self" in following.argrepr
        if (following.opname == "LOAD_METHOD" or as_method) and load.opname.startswith(_OF_A_NAME):
            named = load.argval[-1] if isinstance(load.argval, tuple) else load.argval
            if isinstance(named, str):
                yield named
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _owners_of_methods(inner)


def _def(name: str, body: list[ast.stmt], args: ast.arguments) -> ast.FunctionDef:
    made = ast.FunctionDef(name=name, args=args, body=body, decorator_list=[], returns=None)
    made.type_params = []  # type: ignore[attr-defined] - of Python 3.12
    return made


def _bare(args: ast.arguments) -> ast.arguments:
    """The parameters by name only: defaults and annotations belong to the code around the function."""

    def of(a: ast.arg) -> ast.arg:
        return ast.copy_location(ast.arg(a.arg), a)

    return ast.arguments(
        posonlyargs=[of(a) for a in args.posonlyargs],
        args=[of(a) for a in args.args],
        vararg=args.vararg and of(args.vararg),
        kwonlyargs=[of(a) for a in args.kwonlyargs],
        kw_defaults=[d and ast.Constant(None) for d in args.kw_defaults],
        kwarg=args.kwarg and of(args.kwarg),
        defaults=[ast.Constant(None) for _ in args.defaults],
    )


def _inside(code: types.CodeType, name: str) -> types.CodeType | None:
    """The first code called `name` in `code`, from the outside in."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    for c in inner:
        if c.co_name == name and c.co_flags & inspect.CO_NEWLOCALS and code.co_name != "<module>":
            return c  # that of a class has no flags
    for c in inner:
        found = _inside(c, name)
        if found is not None:
            return found
    return None


def _alike(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two code objects are equal, except for their line tables."""
    if (
        not a.co_flags & inspect.CO_NEWLOCALS
    ):  # that of a class contains its line number; kernels have no classes
        return a.co_name == b.co_name
    return (
        a.co_code == b.co_code
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and a.co_freevars == b.co_freevars
        and a.co_cellvars == b.co_cellvars
        and len(a.co_consts) == len(b.co_consts)
        and all(_same(x, y) for x, y in zip(a.co_consts, b.co_consts, strict=True))
    )


def _same(x: object, y: object) -> bool:
    if isinstance(x, types.CodeType) and isinstance(y, types.CodeType):
        return _alike(x, y)
    if isinstance(x, frozenset):  # written in no particular order
        return x == y
    return type(x) is type(y) and repr(x) == repr(y)  # 0.0 is not -0.0
