"""The kernels of the corpus's programs and their adjoints, for compilers that run nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from dsim.backends.cuda.ptx import Ptx, compile_ptx
from dsim.ir.nodes import KernelIR
from dsim.ir.show import show
from dsim.runtime.driver import pipeline
from dsim.runtime.state.settings import Settings
from tests.corpus.matrix import Trial


class Launched(NamedTuple):
    """A kernel that a program launched, and what it is compiled by."""

    kernel: KernelIR
    settings: Settings

    def ptx(self, architecture: str) -> Ptx:
        """The kernel as PTX."""
        module = pipeline.grid_form(self.kernel, self.settings)
        return compile_ptx(module, self.kernel.name, architecture)


@contextmanager
def recorded() -> Iterator[list[Launched]]:
    """What is launched meanwhile, once each, when it is over. It is interpreted, so nothing is compiled."""
    found: dict[str, Launched] = {}
    launched: list[Launched] = []
    interpreted = pipeline.BACKENDS["reference"]

    def machine(kernel: KernelIR, settings: Settings) -> pipeline.Machine:
        found.setdefault(show(kernel), Launched(kernel, settings))
        return interpreted(kernel, settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "machine", machine)
        yield launched
    launched.extend(found.values())


def described(kernel: KernelIR) -> str:
    """The name of a kernel for tables."""
    return f"{kernel.name}{', adjoint' if any(m.derivative for m in kernel.memories) else ''}"


def kernels_of(program: str, real: str) -> list[Launched]:
    """What a gradient of one of the corpus's programs launches of its own, and the adjoints."""
    trial = Trial(program, real)
    weighing = {measure.__name__ for measure in trial.measures}
    with recorded() as found:
        trial.gradient()
    return [each for each in found if each.kernel.name not in weighing]
