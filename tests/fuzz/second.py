"""Second derivatives of a program: the two modes nested in all four ways."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dsim as ds
from tests.fuzz.drawing.program import FieldSpec, Program

Values = dict[str, np.ndarray]

# Text added to a program, so that kernels can use gradients and tangents as values.
HEAD = """
outer = ti.field(ti.f64, shape=(), needs_grad=True)


@ti.kernel
def take_tangent():
    outer[None] += loss.dual[None]


@ti.kernel
def weigh_gradients():
"""


def text(program: Program) -> str:
    """The program's text, and what is added to it."""
    inputs = [f for f in program.fields if f.name in program.inputs]
    declared = "\n".join(f.text(f"{f.name}_weight") for f in inputs)
    return program.text + "\n\n" + declared + HEAD + "\n".join(line for f in inputs for line in _weighed(f))


def _weighed(f: FieldSpec) -> list[str]:
    """Lines that add the gradient of `f`, weighted, to `outer`."""
    at = "I" if f.shape else "None"
    value = f"{f.name}_weight[{at}] * {f.name}.grad[{at}]"
    line = f"outer[None] += {f'({value}).sum()' if f.entry else value}"
    return [f"    for I in ti.grouped({f.name}):", f"        {line}"] if f.shape else [f"    {line}"]


class Second:
    """The product of the Hessian of `loss` with a direction, for a program built with `text`.

    Parameters
    ----------
    program : Program
    space : dict
        What its text defines.
    begin : callable
        Gives the fields what they hold before a run.
    direction : dict
    """

    def __init__(self, program: Program, space: dict, begin: Callable[[], None], direction: Values) -> None:
        self.program, self.space, self.begin, self.direction = program, space, begin, direction
        self.inputs = [space[name] for name in program.inputs]
        self.seeds = [direction[name] for name in program.inputs]

    def forward(self, **options) -> ds.ad.FwdMode:
        """Forward mode along the direction."""
        return ds.ad.FwdMode(param=self.inputs, seed=self.seeds, **options)

    def gradients(self) -> Values:
        """What stands in the inputs' gradients."""
        return {name: self.space[name].grad.to_numpy() for name in self.program.inputs}

    def forward_over_reverse(self) -> Values:
        """The tangents of the gradient."""
        self.begin()
        with self.forward(), ds.ad.Tape(loss=self.space["loss"]):
            self.space["run"]()
        return {name: self.space[name].grad.dual.to_numpy() for name in self.program.inputs}

    def reverse_over_reverse(self) -> Values:
        """The gradient of the weighted gradient."""
        self.begin()
        for name, weights in self.direction.items():
            self.space[f"{name}_weight"].from_numpy(weights)
        with ds.ad.Tape(loss=self.space["outer"]):
            with ds.ad.Tape(loss=self.space["loss"]):
                self.space["run"]()
            self.space["weigh_gradients"]()
        return self.gradients()

    def reverse_over_forward(self) -> Values:
        """The gradient of the tangent."""
        self.begin()
        with ds.ad.Tape(loss=self.space["outer"]):
            with self.forward(loss=self.space["loss"]):
                self.space["run"]()
            self.space["take_tangent"]()
        return self.gradients()

    def forward_over_forward(self) -> Values:
        """The tangent of the tangent: one number."""
        self.begin()
        with self.forward(), self.forward(loss=self.space["loss"]):
            self.space["run"]()
        return {"loss": self.space["loss"].dual.dual.to_numpy()}
