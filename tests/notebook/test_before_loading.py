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


MODULE = """
import dsim as ds


@ds.kernel
def scaled(a: float) -> float:
    return a * 2.0


@ds.kernel
def total(u: ds.template(), x: ds.template()):
    for i in x:
        u[None] += x[i]


class Twice:
    @ds.kernel
    def of(self, a: float) -> float:
        return a * 2.0
"""


@pytest.mark.slow
@pytest.mark.parametrize("early", [True, False])
def test_kernels_that_were_imported_by_name_follow_autoreload(early, empty, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    name = f"reloaded_when_loaded_{'early' if early else 'late'}"
    file = tmp_path / f"{name}.py"
    file.write_text(MODULE)
    load = "%load_ext autoreload\n%autoreload 2"
    if early:
        empty.good(load)
    offer()
    empty.good(f"import dsim as ds, {name} as m\nfrom {name} import Twice, scaled, total")
    if not early:
        empty.good(load)
    empty.good("u, x, t = ds.field(ds.f64, ()), ds.field(ds.f64, 3), Twice()\nx.fill(1.0)")
    launches = """
        u[None] = 0.0
        total(u, x)
        sums = [u[None]]
        m.total(u, x)
        sums.append(u[None] - sums[0])
        found = (*sums, scaled(1.0), m.scaled(1.0), t.of(1.0), Twice().of(1.0))
        """
    try:
        empty.good(launches)
        assert empty.names["found"] == (3, 3, 2, 2, 2, 2)
        file.write_text(MODULE.replace("2.0", "7.5").replace("+= x[i]", "+= x[i] * x[i] + 9"))
        empty.good(launches)
        assert empty.names["found"] == (30, 30, 7.5, 7.5, 7.5, 7.5)
    finally:
        empty.shell.run_cell("%autoreload 0\n%unload_ext autoreload")
        sys.modules.pop(name)
