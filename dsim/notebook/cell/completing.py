"""Completions behind a magic at the cursor: options, kernels, tapes, fields, and no Python keywords."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from dsim.notebook.cell.options import TABLE
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.tapes.tape import Tape

_IDENTIFIER = "dsim"
_TAKES = {"%tape": Tape, "%adjoint": Kernel, "%check": Kernel}


def install(shell: Any) -> None:
    """Completions behind the magics, for `shell`."""
    remove(shell)

    @context_matcher(identifier=_IDENTIFIER)
    def matcher(context: CompletionContext) -> SimpleMatcherResult:
        found = [w for w in words(shell.user_ns, context.text_until_cursor) if w.startswith(context.token)]
        # Python's own names would only hide the values of an option.
        return {
            "completions": [SimpleCompletion(w, type=_kind(w)) for w in found],
            "suppress": bool(found),
            "ordered": True,
        }

    shell.Completer.custom_matchers = [*shell.Completer.custom_matchers, matcher]


def remove(shell: Any) -> None:
    """Takes them away."""
    found = shell.Completer.custom_matchers
    shell.Completer.custom_matchers = [
        m for m in found if getattr(m, "matcher_identifier", "") != _IDENTIFIER
    ]


def _kind(word: str) -> str:
    """The kind of completion, as front ends show it."""
    return "keyword" if word.startswith("-") else "instance"


def words(namespace: Mapping[str, Any], before: str) -> list[str]:
    """The completions of `before`, a line up to the cursor; none when it has no magic."""
    given = before.split()
    named = {name: v for name, v in namespace.items() if not name.startswith("_")}
    if not given or (len(given) == 1 and not before[-1].isspace()):
        return []
    if given[0] == "%check" and (len(given) > 2 or (len(given) > 1 and before[-1].isspace())):
        return ["--plot"]
    if given[0] in _TAKES:
        return [name for name, v in named.items() if isinstance(v, _TAKES[given[0]])]
    if given[0] != "%%kernel":
        return []
    return _in_kernel(named, given, given[-1] if before[-1].isspace() else given[-2])


def _in_kernel(named: Mapping[str, Any], given: list[str], behind: str) -> list[str]:
    option = next((o for o in TABLE if o.name == behind), None)
    if option is None or not option.value:
        kernels = [n for n, v in named.items() if isinstance(v, Kernel)] if behind == "%%kernel" else []
        return [*kernels, *(o.name for o in TABLE if o.name not in given or o.name == given[-1])]
    if option.choices:
        return list(option.choices)
    if option.value == "I,J":
        return []
    fields = {n: v for n, v in named.items() if isinstance(v, Field) and v.dtype.is_float}
    if option.name == "--loss":
        return [n for n, f in fields.items() if not f.full_shape and f.needs_grad]
    return [n for n, v in named.items() if n in fields or isinstance(v, StructField)]
