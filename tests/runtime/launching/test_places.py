"""Errors of calls from Python point to the calling line."""

from __future__ import annotations

import pytest

import dsim as ti


def test_an_index_from_python():
    x = ti.field(ti.f32, shape=4)
    with pytest.raises(ti.BoundsError) as e:
        x[99] = 3.0
    (said,) = e.value.diagnostics
    assert said.span.text == "x[99] = 3.0"
    assert said.span.source.name == __file__
    assert str(e.value).endswith("help: look at its `shape`")


def test_a_call_with_too_few_arguments():
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def put(at: ti.i32):
        x[at] = 1.0

    with pytest.raises(ti.LaunchTypeError) as e:
        put()
    (said,) = e.value.diagnostics
    assert said.span.text == "put()"


def test_an_element_changed_in_place():
    x, loss = ti.field(ti.f64, shape=(), needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def scale():
        loss[None] *= x[None]

    with pytest.raises(ti.AccessRuleError, match="compute in a local variable, and store it once"):
        scale.grad()


def test_completions_are_what_a_person_may_use():
    offered = [n for n in dir(ti.field(ti.f32, shape=1)) if not n.startswith("_")]
    assert {"grad", "fill", "to_numpy"} <= set(offered)
    assert "scratch" not in offered

    @ti.kernel
    def nothing():
        pass

    assert [n for n in dir(nothing) if not n.startswith("_")] == [
        "adjoint", "check", "function", "grad", "of", "primal", "ptx", "tangent",
    ]  # fmt: skip
    assert [n for n in dir(nothing.primal) if not n.startswith("_")] == [
        "ir",
        "llvm",
        "ptx",
        "ptx_for",
        "python",
    ]
    names = dir(ti)
    assert {"field", "kernel", "ad", "GUI", "__version__"} <= set(names)
    assert not {"analysis", "frontend", "runtime", "ir"} & set(names)


def test_the_traceback_of_a_launch_ends_at_the_call():
    x = ti.field(ti.f32, shape=4)

    @ti.kernel
    def broken():
        x[0] = nowhere  # noqa: F821

    with pytest.raises(ti.CompilationError) as e:
        broken()
    assert len(e.traceback) == 1  # this line
    assert e.value.__cause__ is None
    assert e.value.__context__ is None
