"""Tracebacks of plain scripts: the user's lines, with few of dsim's frames."""

import os
import subprocess
import sys
import traceback
import types
from pathlib import Path

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics.frames import outermost

OWN = str(Path(ti.__file__).parent)


def frames_of(error):
    """How many frames of dsim there are in the traceback of `error`."""
    return sum(f.filename.startswith(OWN) for f in traceback.extract_tb(error.__traceback__))


class Program:
    def __init__(self):
        self.x = ti.field(ti.f64, shape=3, needs_grad=True)
        self.y = ti.field(ti.f64, shape=(), needs_grad=True)
        self.n = ti.field(ti.i32, shape=3)
        self.v = ti.Vector.field(2, ti.f32, shape=3)
        self.s = ti.types.struct(a=ti.f32).field(shape=2)
        with ti.ad.Tape(self.y) as self.tape:
            self.run(2.0)

    @ti.kernel
    def run(self, by: float):
        for i in self.x:
            self.y[None] += by * self.x[i] ** 2

    @ti.kernel
    def wrong(self):
        self.y[None] = self.x[0, 1]

    def used_twice(self):
        with self.tape:
            pass

    def inside(self):
        with ti.ad.Tape(self.y):
            self.wrong()

    def backward_inside(self):
        with ti.ad.Tape(self.y) as tape:
            tape.backward()

    def changed(self):
        self.x.fill(3.0)
        self.tape.backward()


FAILURES = {
    "index": lambda p: p.x[5],
    "count of indices": lambda p: p.x[0, 1],
    "value": lambda p: p.x.__setitem__(0, "a"),
    "shape": lambda p: p.x.from_numpy(np.zeros(4)),
    "fill": lambda p: p.v.fill([1.0, 2.0, 3.0]),
    "copy": lambda p: p.x.copy_from(p.y),
    "integers": lambda p: p.n.grad,
    "no tangent": lambda p: p.x.dual[0],
    "component": lambda p: p.v.get_scalar_field(3),
    "structs": lambda p: p.s[7],
    "iteration": lambda p: list(p.x),
    "length": lambda p: len(p.x),
    "iteration over structs": lambda p: list(p.s),
    "length of structs": lambda p: len(p.s),
    "field": lambda p: ti.field(ti.f32, shape=-1),
    "vectors": lambda p: ti.Vector.field(0, ti.f32),
    "placed": lambda p: ti.root.place(p.x),
    "loss": lambda p: ti.ad.Tape(p.x),
    "used twice": Program.used_twice,
    "inside": Program.inside,
    "backward inside": Program.backward_inside,
    "changed": Program.changed,
    "gradient": lambda p: p.tape.gradient(p.n),
    "gradient after": lambda p: p.tape.gradient(p.x, after=9),
    "check": lambda p: ti.check_grad(lambda: p.run(1.0), wrt=p.n, loss=p.y),
    "seed": lambda p: ti.ad.FwdMode(p.y, p.x, seed=[1.0, 2.0]),
    "no seed": lambda p: ti.ad.FwdMode(p.y, p.x),
    "arguments": lambda p: p.run(),
    "types": lambda p: p.run("a"),
    "compiled": lambda p: p.wrong(),
    "adjoint": lambda p: p.wrong.adjoint,
    "pickled": lambda p: p.tape.__reduce__(),
}


@pytest.mark.parametrize("fails", FAILURES.values(), ids=FAILURES.keys())
def test_at_most_one(fails):
    with pytest.raises((ti.DsimError, TypeError, ValueError)) as raised:
        fails(Program())
    assert frames_of(raised.value) <= 1
    assert raised.value.__context__ is None


WRONG_CALLS = {
    "name of a parameter": lambda p: ti.field(ti.f64, shap=3),  # type: ignore[call-arg]
    "of a lazy function": lambda p: ti.view(p.x, colour="red"),  # type: ignore[call-arg]
    "of a class": lambda p: ti.ad.Tape(p.y, bugdet=3),  # type: ignore[call-arg]
    "count of arguments": lambda p: p.x.fill(1.0, 2.0),
    "name in dsim": lambda p: ti.kernle,
    "name in a module": lambda p: ti.tools.imraed,
    "name in the layout": lambda p: ti.root.dens,
    "sum of vectors": lambda p: ti.Vector([1, 2]) + ti.Vector([1, 2, 3]),
    "comparison": lambda p: ti.Vector([1, 2]) < ti.Vector([1, 2, 3]),
    "product": lambda p: ti.Matrix([[1, 2], [3, 4]]) @ ti.Vector([1, 2, 3]),
    "product with a number": lambda p: ti.Matrix([[1, 2], [3, 4]]) @ 2,
    "scalar product": lambda p: ti.Vector([1, 2]).dot(ti.Vector([1, 2, 3])),
    "determinant": lambda p: ti.Vector([1, 2]).determinant(),
    "entry": lambda p: ti.Vector([1, 2]).z,
    "entries": lambda p: setattr(ti.Vector([1, 2]), "xy", [1, 2, 3]),
    "value of an entry": lambda p: setattr(ti.Vector([1, 2]), "x", "a"),
}


@pytest.mark.parametrize("fails", WRONG_CALLS.values(), ids=WRONG_CALLS.keys())
def test_none(fails):
    with pytest.raises((TypeError, ValueError, AttributeError)) as raised:
        fails(Program())
    assert frames_of(raised.value) == 0


INSIDE = """
@outermost
def inner():
    pass

@outermost
def outer():
    inner(1)
"""


@pytest.mark.parametrize(
    ("name", "arguments", "kept"), [("outer", (), ["called", "outer", "called"]), ("inner", (1,), [])]
)
def test_a_wrong_call_inside_of_dsim_keeps_its_frames(name, arguments, kept):
    names = {"__name__": "dsim.inside", "outermost": outermost}
    exec(INSIDE, names)
    with pytest.raises(TypeError, match=r"inner\(\) takes 0 positional arguments") as raised:
        names[name](*arguments)
    assert [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)[1:]] == kept


def test_the_lines_of_a_person_between_stay():
    p = Program()

    def own():
        raise KeyError("mine")

    with pytest.raises(KeyError) as raised:
        ti.check_grad(own, wrt=p.x, loss=p.y)
    assert frames_of(raised.value) == 0
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "own"


def test_context_managers_of_dsim_are_no_frames_of_a_person():
    p = Program()

    def own():
        raise KeyError("mine")

    with pytest.raises(KeyError) as raised:
        ti.objective(own, wrt=p.x, loss=p.y)(np.zeros(p.x.shape))
    names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert names == ["test_context_managers_of_dsim_are_no_frames_of_a_person", "own"]


def test_ctrl_c_at_an_instruction_without_a_line_stays_ctrl_c():
    """The jump back of a loop has none, where branches end that lead there."""

    def some():
        last = None
        for each in range(3):
            if each is not None and each != last:
                last = each
                yield each

    frame = some().gi_frame
    for at in range(len(frame.f_code.co_code)):
        trace = types.TracebackType(None, frame, at, -1)

        @outermost
        def interrupted(trace=trace):
            raise KeyboardInterrupt().with_traceback(trace)

        with pytest.raises(KeyboardInterrupt) as error:
            interrupted()
        assert frame in [f for f, _ in traceback.walk_tb(error.value.__traceback__)]


def test_what_a_person_caught_stays_the_context():
    p = Program()

    def own():
        try:
            raise KeyError("mine")
        except KeyError:
            _ = p.x[5]

    with pytest.raises(ti.BoundsError) as raised:
        own()
    assert isinstance(raised.value.__context__, KeyError)


def test_a_cause_stays():
    p = Program()

    def own():
        try:
            _ = p.x[5]
        except IndexError as error:
            raise ValueError("step 3") from error

    with pytest.raises(ValueError, match="step 3") as raised:
        ti.check_grad(own, wrt=p.x, loss=p.y)
    assert isinstance(raised.value.__cause__, ti.BoundsError)
    assert frames_of(raised.value.__cause__) == 0


def test_an_error_that_dsim_did_not_mean_keeps_its_frames(monkeypatch):
    p = Program()
    monkeypatch.setattr(p.x, "_shape", None)
    with pytest.raises(TypeError) as raised:
        _ = p.x[1]
    assert frames_of(raised.value) > 1


def test_examples_of_what_is_decorated_are_found():
    assert ti.ad.Tape.gradient.__globals__["__name__"] == ti.ad.Tape.__module__
    assert ti.field.__defaults__ is None
    assert ti.field.__wrapped__.__name__ == "field"  # type: ignore[attr-defined]


SCRIPT = """
import dsim as ds
x = ds.field(ds.f32, shape=3, needs_grad=True)
def step():
    with ds.ad.Tape(x):
        pass
step()
"""


@pytest.mark.slow
@pytest.mark.parametrize("everything", [False, True])
def test_a_script(tmp_path, everything):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    environment = {
        **os.environ,
        "DSIM_FRAMES": "1" if everything else "",
        "PYTHONPATH": str(Path(OWN).parent),
    }
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, env=environment, check=False, timeout=60
    )
    shown = [line for line in done.stderr.splitlines() if f'File "{OWN}' in line]
    assert len(shown) > 1 if everything else len(shown) <= 1
    assert f'File "{path}", line 5, in step' in done.stderr
    assert "help:" in done.stderr
