"""The first tab of a report: what a kernel reads and writes and what a run gave, in rows and in one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dsim.ir.nodes import Accumulate, For, Load, Store
from dsim.notebook import figures
from dsim.notebook.places import Places
from dsim.runtime.forms import Form
from dsim.runtime.saved import Report as Saved


@dataclass
class Summary:
    """Rows of label and value, and the parts of the one line."""

    name: str
    rows: list[tuple[str, str]] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def text(self) -> str:
        """All of it in one line."""
        return f"{self.name}: {'; '.join(self.parts)}" if self.parts else self.name

    # what the kernel is

    def effects(self, form: Form) -> None:
        """The fields that it reads, stores and accumulates to."""
        words = []
        for label, kind, past in (
            ("reads", Load, "read"),
            ("stores", Store, "stored"),
            ("accumulates", Accumulate, "accumulated"),
        ):
            names = [f.name for f, kinds in form.touching.items() if kind in kinds]
            if names:
                self.rows.append((label, ", ".join(names)))
                what = figures.count(len(names), "field") if kind is Load else ", ".join(names)
                words.append(f"{what} {past}")
        self.parts.append(", ".join(words) or "touches no fields")

    def loops(self, form: Form, places: Places) -> None:
        """Which of its outermost loops are parallel."""
        told: dict[str, None] = {}
        for s in form.kernel.body.statements:
            if isinstance(s, For):
                line = places.line(s.origin)
                where = "" if line is None else f"line {line}: "
                told[f"{where}{'parallel' if s.parallel else 'serial'}"] = None
        if told:
            self.rows.append(("loops", ", ".join(told)))

    # what a run gave

    def loss(self, name: str, value: float, gradients: Mapping[str, np.ndarray]) -> None:
        """The loss, and the length of its gradient in each field."""
        self.rows.append(("loss", f"{name} = {figures.precise(value)}"))
        lengths = [f"‖∂{name}/∂{of}‖ = {figures.short(_norm(g))}" for of, g in gradients.items()]
        self.rows.append(("gradient", ", ".join(lengths) or "no other field with a gradient takes part"))
        self.parts.append(", ".join([f"{name} = {figures.precise(value)}", *lengths]))

    def saved(self, saved: Saved) -> None:
        """What the tape had to save, by which line, for which reader."""
        if not saved:
            self.rows.append(("saved", "nothing: no value that the gradient needs is overwritten"))
            return
        self.rows += [
            ("saved", f"{figures.size(r.bytes)} of {r.field}, overwritten by {r.writer}, read by {r.reader}")
            for r in saved
        ]
        self.parts.append(f"{figures.size(saved.bytes)} saved")

    def tangents(self, by: str, found: Mapping[str, np.ndarray]) -> None:
        """The tangents along `by`."""
        told = [
            f"{name}.dual = {figures.precise(t.item())}"
            if t.size == 1
            else f"‖{name}.dual‖ = {figures.short(_norm(t))}"
            for name, t in found.items()
        ]
        self.rows.append((f"tangent along {by}", ", ".join(told) or "no field has one"))
        if told:
            self.parts.append(", ".join(told))

    def check(self, result: str, numbers: str) -> None:
        """What comparing the gradient with differences gave."""
        self.rows.append(("gradient check", f"{result}: {numbers}"))
        self.parts.append(f"gradient check {result}")


def _norm(array: np.ndarray) -> float:
    """The length of all numbers together, without overflow of their squares."""
    wide = np.abs(array.astype(np.float64)).ravel()
    largest = float(wide.max()) if wide.size else 0.0
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.sum((wide / largest) ** 2)))
