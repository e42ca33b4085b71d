"""The first tab of a report: a kernel's accesses and the results of a run, in rows and in one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dsim.ir.nodes import Accumulate, For, Load, Store
from dsim.notebook.report import figures
from dsim.notebook.report.locations import Places
from dsim.runtime.launching.forms import Form
from dsim.runtime.saving.snapshots import Report as Saved

_MOST = 3  # the most names in the one line: of more fields it shows the number
_EFFECTS = (
    ("reads", Load, "reads"),
    ("stores", Store, "stores"),
    ("accumulates", Accumulate, "accumulates into"),
)


@dataclass
class Summary:
    """Rows of label and value, and the parts of the one line.

    Attributes
    ----------
    name : str
        The kernel that a run is about.
    kernels : tuple of str
        All kernels that are told of; `name` alone by default.
    rows : list of (str, str, str)
        Kernel, label, value.
    """

    name: str
    kernels: tuple[str, ...] = ()
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def text(self) -> str:
        """All of it in one line."""
        if len(self.kernels) > _MOST:
            start = f"{len(self.kernels)} kernels, {figures.listed(self.kernels)}"
        else:
            start = "" if len(self.kernels) > 1 else self.name
        parts = "; ".join(self.parts)
        return f"{start}: {parts}" if start and parts else start or parts

    def row(self, label: str, value: str, kernel: str | None = None) -> None:
        """One more row: of the kernel that runs, unless it is another one's."""
        self.rows.append((self.name if kernel is None else kernel, label, value))

    def part(self, told: str, kernel: str) -> None:
        """The kernel's part of the one line, before it runs."""
        if len(self.kernels) <= _MOST:
            self.parts.append(f"{kernel}: {told}" if len(self.kernels) > 1 else told)

    # what the kernels are

    def effects(self, form: Form, kernel: str | None = None) -> None:
        """The fields that a kernel reads, stores and accumulates to."""
        kernel, words = kernel or self.name, []
        for label, kind, verb in _EFFECTS:
            names = [f.name for f, kinds in form.touching.items() if kind in kinds]
            if names:
                self.row(label, ", ".join(names), kernel)
                many = len(names) > _MOST
                words.append(
                    f"{verb} {figures.count(len(names), 'field') if many else figures.listed(names)}"
                )
        self.part(", ".join(words) or "uses no field", kernel)

    def loops(self, form: Form, places: Places, kernel: str | None = None) -> None:
        """Which of its outermost loops are parallel."""
        told: dict[str, None] = {}
        for s in form.kernel.body.statements:
            if isinstance(s, For):
                line = places.line(s.origin)
                where = "" if line is None else f"line {line}: "
                told[f"{where}{'parallel' if s.parallel else 'serial'}"] = None
        if told:
            self.row("loops", ", ".join(told), kernel)

    # what a run gave

    def loss(self, name: str, value: float, gradients: Mapping[str, np.ndarray]) -> None:
        """The loss, and the length of its gradient in each field."""
        self.row("loss", f"{name} = {figures.precise(value)}")
        lengths = [f"‖∂{name}/∂{of}‖ = {figures.short(figures.norm(g))}" for of, g in gradients.items()]
        self.row("gradient", ", ".join(lengths) or "no other field with a gradient is used")
        self.parts.append(", ".join([f"{name} = {figures.precise(value)}", *lengths]))

    def saved(self, saved: Saved) -> None:
        """The values that the tape saved, by writer and reader."""
        if not saved:
            self.row("saved", "nothing: no value that the gradient needs is overwritten")
            return
        for r in saved:
            self.row(
                "saved",
                f"{figures.size(r.bytes)} of {r.field}, overwritten by {r.writer}, read by {r.reader}",
            )
        self.parts.append(f"{figures.size(saved.bytes)} saved")

    def tangents(self, by: str, found: Mapping[str, np.ndarray]) -> None:
        """The tangents along `by`."""
        told = [
            f"{name}.dual = {figures.precise(t.item())}"
            if t.size == 1
            else f"‖{name}.dual‖ = {figures.short(figures.norm(t))}"
            for name, t in found.items()
        ]
        self.row(f"tangent along {by}", ", ".join(told) or "no field has one")
        if told:
            self.parts.append(", ".join(told))

    def check(self, result: str, numbers: str) -> None:
        """The result of comparing the gradient with differences."""
        self.row("gradient check", f"{result}: {numbers}")
        self.parts.append(f"gradient check {result}")
