"""Rewrites a program without in-place updates: no launch overwrites what an earlier one read.

Before a launch, or a write by Python, each field that it changes is copied into a new one, which takes its
place from then on. Top-level statements that share no locals become kernels of their own, and so does each
trip of a loop at the top. What is overwritten then is overwritten within one trip of one loop.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from tests.fuzz.drawing.program import (
    Action,
    BlockSpec,
    FieldSpec,
    HostWrite,
    KernelSpec,
    Launch,
    Program,
    mentioned,
    renamed,
    written,
)

MOST_TRIPS = 12  # of a loop whose trips become launches


def fresh(program: Program) -> Program:
    """`program`, with fresh fields instead of overwritten ones; its inputs are the same."""
    return _Writing(program).program()


class _Writing:
    def __init__(self, program: Program) -> None:
        self.given = program
        self.specs = {f.name: f for f in program.fields}
        self.names = tuple(self.specs)
        self.now = {name: name for name in self.names}  # which field has a field's values now
        self.fields = [*program.fields]
        self.kernels: dict[KernelSpec, str] = {}
        self.actions: list[Action] = []
        self.count = itertools.count(1)

    def program(self) -> Program:
        """The whole."""
        for action in self.given.actions:
            if isinstance(action, Launch):
                for part, args in _parts(self.given.kernel(action.kernel), action.args):
                    self.launch(part, args)
            else:
                self.host_write(action)
        # the fields compared in the end keep their names
        self.actions += [HostWrite(n, f"{n}.copy_from({at})") for n, at in self.now.items() if n != at]
        kernels = tuple(replace(k, name=name) for k, name in self.kernels.items())
        return replace(self.given, fields=tuple(self.fields), kernels=kernels, actions=tuple(self.actions))

    def launch(self, kernel: KernelSpec, args: tuple) -> None:
        """A launch that works on copies of what it writes."""
        text = kernel.text()
        self.copy(written(self.names, text))
        now = {name: self.now[name] for name in mentioned(self.names, text)}
        made = replace(kernel, name="k", blocks=tuple(_renamed(b, now) for b in kernel.blocks))
        name = self.kernels.setdefault(made, f"k{len(self.kernels)}")
        self.actions.append(Launch(name, args))

    def host_write(self, write: HostWrite) -> None:
        """The same for a write by Python."""
        self.copy({write.target})
        others = tuple(self.now[name] for name in write.others)
        self.actions.append(HostWrite(self.now[write.target], write.form, others))

    def copy(self, names: set[str]) -> None:
        """Puts new fields in the place of `names`."""
        for name in sorted(names - {"loss"}):
            spec = self.specs[name]
            new = f"{name}_{next(self.count)}"
            self.fields.append(_copy_of(spec, new))
            self.actions.append(HostWrite(new, "{0}.copy_from({1})", (self.now[name],)))
            self.now[name] = new


def _copy_of(spec: FieldSpec, name: str) -> FieldSpec:
    return replace(spec, name=name, needs_grad=False)


def _renamed(block: BlockSpec, names: dict[str, str]) -> BlockSpec:
    head = block.head
    if head is not None:
        head = replace(head, text=renamed(head.text, names))
    return BlockSpec(tuple(renamed(line, names) for line in block.lines), head)


def _parts(kernel: KernelSpec, args: tuple) -> list[tuple[KernelSpec, tuple]]:
    """A launch as several: one a block, one a trip, where that is the same."""
    if kernel.together or "return" in kernel.text():
        return [(kernel, args)]
    found = []
    for block in kernel.blocks:
        part = replace(kernel, blocks=(block,))
        if block.head is None or len(block.head.trips()) > MOST_TRIPS:
            found.append((part, args))
            continue
        params = tuple((name, "ti.i32") for name in block.head.names)
        part = replace(part, params=(*kernel.params, *params), blocks=(BlockSpec(block.lines),))
        found += [(part, (*args, *trip)) for trip in block.head.trips()]
    return found
