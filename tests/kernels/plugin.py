"""The cells of notebooks run in forked kernels, which start sooner, and are the same kernels otherwise."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.kernels.forks import CAN_FORK, describe, fork_server

_OF_NBVAL = "dsim-forked"
_OPEN = contextlib.ExitStack()  # until the tests of this process are over


@cache
def _share() -> Path:
    """Starts the fork server of this process; gives a part of JUPYTER_PATH with its kernels."""
    share = Path(_OPEN.enter_context(tempfile.TemporaryDirectory(prefix="dsim-share-")))
    server = _OPEN.enter_context(fork_server())
    describe(share / "nbval", _OF_NBVAL, server)
    describe(share / "everybody", "python3", server)
    return share


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before nbval starts the kernel of a notebook."""
    option = item.config.option
    if CAN_FORK and item.path.suffix == ".ipynb" and option.nbval_current_env:
        known = os.environ.get("JUPYTER_PATH")
        os.environ["JUPYTER_PATH"] = os.pathsep.join([str(_share() / "nbval"), *([known] if known else [])])
        option.nbval_current_env, option.nbval_kernel_name = False, _OF_NBVAL


@pytest.fixture(scope="module")
def forked_kernels() -> Iterator[None]:
    """Whoever starts a kernel of Python in this process, or in one that it starts, gets a forked one."""
    with pytest.MonkeyPatch.context() as patch:
        if CAN_FORK:
            patch.setenv("JUPYTER_PATH", str(_share() / "everybody"), prepend=os.pathsep)
        yield


def pytest_unconfigure() -> None:
    """The kernels are gone, and nothing forks any more."""
    _OPEN.close()
