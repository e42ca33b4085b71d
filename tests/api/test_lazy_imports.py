"""What `import dsim` leaves for later, and that it is there by then."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dsim as ds

_HEAVY = ("IPython", "matplotlib", "scipy.sparse", "ipywidgets")
_LATER = ("dsim.linalg", "dsim.operations", "dsim.plot", "dsim.runtime.graphs", "dsim.runtime.transforms")


def _told(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_heavy_and_rare_modules_are_imported_by_their_first_use():
    code = f"import sys, dsim; print([m for m in {_HEAVY + _LATER} if m in sys.modules])"
    assert _told(code) == "[]\n"
    code = "import sys, dsim; dsim.hessian; print('dsim.runtime.transforms.functions' in sys.modules)"
    assert _told(code) == "True\n"


def test_every_public_name_is_there():
    for name in ds.__all__:
        assert getattr(ds, name) is getattr(ds, name), name
    assert sorted(ds.__all__) == sorted({*ds.__all__})
    assert {"ad", "hessian", "svd", "operations"} <= {*dir(ds)}


@pytest.mark.slow
def test_operators_of_operations_are_there_without_the_operations_of_dsim():
    """An operation whose rule is differentiated once more: the rule is traced."""
    code = """
import dsim as ds
ds.init(default_fp=ds.f64)
x, y, loss = (ds.field(ds.f64, shape=s, needs_grad=True) for s in (2, 2, ()))

@ds.ad.operation
def square(a):
    return a * a

@square.vjp
def back(a, *, adjoint):
    return 2 * a * adjoint

@square.jvp
def ahead(a, *, tangents):
    return 2 * a * tangents[0]

@ds.kernel
def total():
    for i in y:
        loss[None] += y[i] ** 2

x.from_numpy(__import__("numpy").array([1.0, 2.0]))
print(ds.hvp(lambda: [square(x, out=y), total()], wrt=x, out=loss, tangents=[1.0, 1.0]).tolist())
"""
    assert _told(code) == "[12.0, 48.0]\n"
