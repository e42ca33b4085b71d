"""What `ds.optimize` refuses quotes the person's line, and says what to do."""

import pytest

import dsim as ds
from tests.optimization.programs import quadratic
from tests.refused import refused


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


def started(*args, **named):
    return ds.optimize(*args, progress=False, start=False, **named)


CALLS = {
    "a method": (lambda p: started(p.run, p.x, p.y, method="Nelder"), "names no method"),
    "an option": (lambda p: started(p.run, p.x, p.y, method="Adam", rate=-1), "`rate=` is a number above 0"),
    "steps": (lambda p: started(p.run, p.x, p.y, steps=0), "`steps=` is a whole number above 0"),
    "a tolerance": (lambda p: started(p.run, p.x, p.y, tolerance=-1), "`tolerance=` is a number from 0"),
    "a callback": (lambda p: started(p.run, p.x, p.y, callback=3), "`callback=` is a function"),
    "a callback without parameters": (
        lambda p: started(p.run, p.x, p.y, callback=lambda: None),
        "`callback=` is a function of the optimisation",
    ),
    "a background": (
        lambda p: started(p.run, p.x, p.y, background="x"),
        "`background=` is True, False or None, got 'x'",
    ),
    "a view": (lambda p: started(p.run, p.x, p.y, view=3), "`view=` has an `update"),
    "a folder": (lambda p: started(p.run, p.x, p.y, path="no/such.npz"), "there is no folder"),
    "a path": (lambda p: started(p.run, p.x, p.y, path=3), "`path=` is the name of a file"),
    "bounds": (lambda p: started(p.run, p.x, p.y, bounds=(2, 3)), "begins outside its bounds"),
    "none free": (lambda p: started(p.run, p.x, p.y, free=[False] * 3), "leaves no number to optimise"),
    "no pause": (lambda p: started(p.run, p.x, p.y).pause(), "is ready, not running"),
    "no wait": (lambda p: started(p.run, p.x, p.y).wait(), "has not begun"),
    "loss in wrt": (lambda p: started(p.run, [p.x, p.y], p.y), "`y` is the loss.*in `wrt=`"),
    "loss as wrt": (lambda p: started(p.run, p.y, p.y), "`y` is the loss.*in `wrt=`"),
    "an objective": (lambda p: ds.objective(p.run, [p.x, p.y], p.y), "`y` is the loss.*in `wrt=`"),
}


class Program:
    def __init__(self):
        self.x, self.y, self.run = quadratic()


@pytest.mark.parametrize("what", CALLS)
def test_an_optimisation_that_cannot_be(what):
    act, message = CALLS[what]
    refused(lambda: act(Program()), message, __file__)


def test_a_file_that_a_thread_finds_unfit(tmp_path):
    p, other = Program(), Program()
    ds.optimize(p.run, p.x, p.y, steps=1, path=tmp_path / "kept.npz", progress=False)

    @ds.kernel
    def more():
        other.y[None] += 100.0

    def run():
        other.run()
        more()

    made = started(run, other.x, other.y, path=tmp_path / "kept.npz", background=True)
    made.start()
    refused(made.wait, "does not fit this optimisation: the loss at its parameters was", __file__)
