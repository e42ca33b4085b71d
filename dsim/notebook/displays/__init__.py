"""Fields, kernels, Jacobians and trajectories as the last line of a cell; `repr` is unchanged.

Each but a trajectory has a table, fields also a drawing. The markup of all is in `tables.py`.
"""

from __future__ import annotations

from typing import Any

from dsim.notebook.displays.fields import component_bundle, field_bundle, struct_bundle
from dsim.notebook.displays.kernels import kernel_bundle
from dsim.notebook.displays.operators import operator_bundle
from dsim.notebook.displays.trajectories import trajectory_bundle
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.inspection.adjoint_trajectory import AdjointTrajectory
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.transforms.linear_operator import Linearization

_BUNDLES: dict[type, Any] = {
    Field: field_bundle,
    Component: component_bundle,
    StructField: struct_bundle,
    Kernel: kernel_bundle,
    Linearization: operator_bundle,
    AdjointTrajectory: trajectory_bundle,
}


def install(shell: Any) -> None:
    """From the next cell on."""
    for kind, bundle in _BUNDLES.items():
        shell.display_formatter.mimebundle_formatter.for_type(kind, bundle)


def remove(shell: Any) -> None:
    """IPython displays them by `repr` again."""
    for kind in _BUNDLES:
        shell.display_formatter.mimebundle_formatter.pop(kind, None)
