"""A session that has imported dsim but not loaded its extension: `%%kernel`, and Ctrl-C in a launch."""

import signal
import sys

import pytest

from dsim.api.notebooks import offer
from tests.notebook.cells import BODIES, GRAVITY
from tests.stopping import ctrl_c


@pytest.fixture
def offered(empty, monkeypatch):
    """A notebook in which dsim was imported for the first time."""
    monkeypatch.delitem(sys.modules, "dsim")
    empty.good(BODIES)
    return empty


def test_a_kernel_loads_the_extension(offered):
    ran = offered.good(GRAVITY)
    assert ran.report["summary"]["text"].startswith("energy: reads x, accumulates into U; U = ")
    assert ran.report["source"] == GRAVITY
    assert "dsim" in offered.shell.extension_manager.loaded
    offered.good("%check energy")
    offered.good("%unload_ext dsim")
    assert "kernel" not in offered.shell.magics_manager.magics["cell"]


def test_mistakes_are_told_as_ever(offered):
    ran = offered.run("%%kernel wrong --loss $nix {N}\nfor i in y:\n    pass")
    assert "UsageError: `{N}` belongs to no option" in ran.stderr
    ran = offered.run("%%kernel wrong\nfor i in nowhere:\n    pass")
    assert "`nowhere` is not defined" in ran.stdout
    assert "interactiveshell" not in ran.stdout


def test_loading_it_oneself_works_as_ever(offered):
    assert offered.good("%load_ext dsim").stdout == ""
    assert "Compile this cell" in offered.shell.find_cell_magic("kernel").__doc__
    offered.good(GRAVITY)


def test_nobody_elses_magic_is_taken(empty):
    def kernel(line, cell):
        return "mine"

    empty.shell.register_magic_function(kernel, "cell", "kernel")
    offer()
    assert empty.shell.find_cell_magic("kernel") is kernel


def test_without_ipython_nothing_happens(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython")
    offer()
    assert "IPython" not in sys.modules


def test_ctrl_c_stops_a_launch_when_the_prompt_has_left_nobody_to_hear_it(offered):
    offered.good("@ds.kernel\ndef up():\n    while U[None] >= 0:\n        U[None] = 1 - U[None]")
    offered.good("up.primal.compile()")
    signal.set_wakeup_fd(-1)  # as asyncio does at the end, which reads a line in a terminal
    with ctrl_c():
        ran = offered.run("up()")
    assert isinstance(ran.error, KeyboardInterrupt)
    offered.good("%load_ext dsim\n%unload_ext dsim")
    signal.set_wakeup_fd(-1)
    with ctrl_c():
        ran = offered.run("up()")
    assert isinstance(ran.error, KeyboardInterrupt)
