"""A notebook without a browser: an IPython shell whose outputs are captured."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from dsim.notebook.report.report import MIME

BODIES = """
import numpy as np
import dsim as ds
ds.init(default_fp=ds.f64)
N = 8
x = ds.Vector.field(2, ds.f64, shape=N, needs_grad=True)
v = ds.Vector.field(2, ds.f64, shape=N)
y = ds.field(ds.f64, shape=N, needs_grad=True)
U = ds.field(ds.f64, shape=(), needs_grad=True)
x.from_numpy(np.random.default_rng(0).random((N, 2)))
v.from_numpy(np.random.default_rng(1).random((N, 2)))
y.from_numpy(np.linspace(0.5, 1.5, N))
"""


@dataclass
class Ran:
    """What a cell showed."""

    bundles: list[dict[str, Any]] = field(default_factory=list)
    stdout: str = ""
    stderr: str = ""
    error: BaseException | None = None

    @property
    def report(self) -> dict[str, Any]:
        """The last report."""
        return [b[MIME] for b in self.bundles if MIME in b][-1]

    def form(self, kind: str) -> str:
        """The last report in another form: ``plain`` or ``html``."""
        return [b[f"text/{kind}"] for b in self.bundles if MIME in b][-1]


class Notebook:
    """A notebook; `run` runs a cell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    @property
    def names(self) -> dict[str, Any]:
        return self.shell.user_ns

    def run(self, cell: str, id: str | None = None, history: bool = True) -> Ran:
        """Runs a cell; `id` is what a front end calls it; without `history` it has the number of the next."""
        with capture_output() as caught:
            result = self.shell.run_cell(cell, store_history=history, cell_id=id)
        error = result.error_before_exec or result.error_in_exec
        return Ran([o.data for o in caught.outputs], caught.stdout, caught.stderr, error)

    def good(self, cell: str, id: str | None = None, history: bool = True) -> Ran:
        """A cell that must not fail."""
        ran = self.run(cell, id, history)
        assert ran.error is None, ran.stdout + ran.stderr
        return ran


@contextmanager
def opened() -> Iterator[Notebook]:
    """A notebook in which nothing was run; the only one."""
    config = Config()
    config.HistoryManager.enabled = False
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config, colors="nocolor")
    try:
        yield Notebook(shell)
    finally:
        shell.extension_manager.unload_extension("dsim")  # else it would follow what other tests do
        # At the end of the process it would go through all memory; until then it would keep its fields.
        atexit.unregister(shell.atexit_operations)
        InteractiveShell.clear_instance()


@contextmanager
def paged(notebook: Notebook, part: Any) -> Iterator[Notebook]:
    """A notebook that has a page, for a part of the extension that does something there."""
    notebook.shell.kernel = object()
    part.install(notebook.shell)
    yield notebook
    del notebook.shell.kernel
    part.remove(notebook.shell)


@pytest.fixture
def empty() -> Iterator[Notebook]:
    """A notebook in which nothing was run."""
    with opened() as notebook:
        yield notebook


@pytest.fixture
def notebook(empty: Notebook) -> Notebook:
    """A notebook with dsim loaded, eight bodies `x`, `v`, numbers `y`, and a loss `U`."""
    empty.good("%load_ext dsim")
    empty.good(BODIES)
    return empty


GRAVITY = """%%kernel energy --loss U --wrt x
for i, j in ds.ndrange(N, N):
    r = x[i] - x[j]
    U[None] += -1 / r.norm(1e-3)"""


def closed_form(x: np.ndarray) -> np.ndarray:
    """The gradient of `GRAVITY`."""
    r = x[:, None] - x[None]
    return 2 * (r / ((r**2).sum(-1, keepdims=True) + 1e-3) ** 1.5).sum(1)
