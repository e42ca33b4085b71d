"""LLVM IR as text: how types and numbers are spelled, functions and modules under construction.

Text is written directly, since building objects first takes longer than compiling them. A function
is a list of lines; values are named ``%x1``, ``%x2``, … in the order in which they are made.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from dsim.ir.nodes import Const
from dsim.ir.types import ALL, ScalarType

PLAIN = "nounwind noinline optnone"  # of functions that are not optimised, to save compile time
# Never nnan or ninf: NaN and infinity keep their meaning.
FLAGS = "nsz arcp contract"
SUMS = f"reassoc {FLAGS}"  # products in another order may leave the range of their type, sums hardly ever

_FLOATS = {16: "half", 32: "float", 64: "double"}


def _spelled(t: ScalarType) -> str:
    return _FLOATS[t.bits] if t.is_float else f"i{t.bits}"


TYPE: dict[ScalarType, str] = {t: _spelled(t) for t in ALL}
STORED: dict[ScalarType, str] = {t: "i8" if t.kind == "bool" else TYPE[t] for t in ALL}
WIDTH: dict[ScalarType, int] = {t: t.numpy.itemsize for t in ALL}


def number(value: float, t: ScalarType) -> str:
    """The constant `value` of type `t` as LLVM writes it: floats by their bits."""
    if t.kind == "bool":
        return "true" if value else "false"
    if not t.is_float:
        return str(int(value))
    if t.bits == 16:
        return f"0xH{int(t.numpy.type(value).view('uint16')):04X}"
    exact = float(t.numpy.type(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


def constant(c: Const) -> str:
    """The constant atom as LLVM writes it."""
    return number(c.value, c.type)


class Module:
    """A module: declarations, helper functions and metadata that functions ask for, each once.

    Parameters
    ----------
    exact : bool
        Whether floating point is done as it is written: no fast flags, no vector math library.
    whole : bool
        Whether it has a definition of everything of dsim's own that it calls, all of it to be optimised.
    """

    def __init__(self, exact: bool = False, whole: bool = False) -> None:
        self.exact = exact
        self.whole = whole
        self.declarations: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.shared: dict[str, str] = {}
        self.functions: list[Function] = []
        self.metadata: list[str] = []
        self.vectors: list[str] = []  # declared functions that only the vectoriser will call
        self.asks = False  # whether anything so far polls the stop flag

    def flags(self, op: str) -> str:
        """What stands behind the name of the floating point operation `op`."""
        if self.exact:
            return ""
        return f" {SUMS if op in ('fadd', 'fsub') else FLAGS}"

    def declare(self, name: str, text: str) -> str:
        """Declares the function or global `name` by `text`, once; gives back `name`."""
        self.declarations.setdefault(name, text)
        return name

    def helper(self, name: str, text: str) -> str:
        """Defines the internal function `name` by `text`, once; gives back `name`."""
        self.helpers.setdefault(name, text)
        return name

    def share(self, name: str, text: str) -> str:
        """Uses the function `name`, which `text` defines for all modules together; gives back `name`."""
        if name not in self.shared:
            self.shared[name] = text
            if self.whole:
                return self.helper(name, text.replace("define ", "define internal ", 1))
            head = text[: text.index("{")].replace("define ", "declare ", 1)
            self.declarations[name] = re.sub(r" (%\w+|noinline|optnone)\b", "", head)
        return name

    def function(self, signature: str) -> Function:
        """A new function, ``signature`` being everything from ``define`` to the attributes."""
        function = Function(self, signature)
        self.functions.append(function)
        return function

    def node(self, text: str) -> str:
        """A new metadata node ``!n`` with the given text (``SELF`` is its own name)."""
        name = f"!{len(self.metadata)}"
        self.metadata.append(f"{name} = {text.replace('SELF', name)}")
        return name

    def text(self) -> str:
        """The whole module, without data layout and triple."""
        parts = ["", *self.declarations.values(), *self.helpers.values()]
        parts += [f.text() for f in self.functions]
        parts += self.metadata
        text = "\n".join(parts) + "\n"
        return re.sub(r" (noinline|optnone)\b", "", text) if self.whole else text


class Function:
    """A function under construction: lines are appended to the block that is open.

    Attributes
    ----------
    block : str
        Label of the open block, as phis of later blocks name it.
    """

    def __init__(self, module: Module, signature: str) -> None:
        self.module = module
        self.signature = signature
        self.entry: list[str] = []  # stack slots, at the start of the function
        self.lines: list[str] = []
        self.block = "entry"
        self._values = 0
        self._labels = 0

    def let(self, text: str) -> str:
        """A new value, ``= text``."""
        self._values += 1
        name = f"%x{self._values}"
        self.lines.append(f"{name} = {text}")
        return name

    def do(self, text: str) -> None:
        """An instruction without a value."""
        self.lines.append(text)

    def slot(self, type: str, align: int = 8) -> str:
        """Stack memory of LLVM type `type`, made once at the start of the function."""
        self._values += 1
        name = f"%x{self._values}"
        self.entry.append(f"{name} = alloca {type}, align {align}")
        return name

    def label(self, hint: str) -> str:
        """A new label."""
        self._labels += 1
        return f"{hint}{self._labels}"

    def open(self, label: str) -> None:
        """Starts the block `label`; the one before has ended with a branch."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str, metadata: str = "") -> None:
        """Ends the open block by going to `label`."""
        self.lines.append(f"br label %{label}{metadata}")

    def fork(self, cond: str, yes: str, no: str, metadata: str = "") -> None:
        """Ends the open block by going to `yes` if `cond` holds, else to `no`."""
        self.lines.append(f"br i1 {cond}, label %{yes}, label %{no}{metadata}")

    def phi(self, type: str, incoming: Sequence[tuple[str, str]]) -> str:
        """A new value that depends on the block from which control came: (value, label) pairs."""
        pairs = ", ".join(f"[ {value}, %{label} ]" for value, label in incoming)
        return self.let(f"phi {type} {pairs}")

    def open_phi(self, type: str, value: str, label: str) -> tuple[str, int]:
        """A phi whose other side is given later to `close_phi`; its name, and where it stands."""
        return self.phi(type, [(value, label)]), len(self.lines) - 1

    def close_phi(self, at: int, value: str, label: str) -> None:
        """Adds the pair that `open_phi` left out."""
        self.lines[at] += f", [ {value}, %{label} ]"

    def call(self, result: str, name: str, *args: str) -> str:
        """The value of calling `name`; arguments with their types."""
        return self.let(f"call {result} @{name}({', '.join(args)})")

    def text(self) -> str:
        """The whole function."""
        return "\n".join([self.signature + " {", "entry:", *self.entry, *self.lines, "}"])
