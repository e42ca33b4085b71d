"""The cells of notebooks run in forked kernels, which start sooner, and are the same kernels otherwise."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import pytest

from tests.kernels.forks import CAN_FORK, describe, fork_server

_NAME = "dsim-forked"


class _Forks(contextlib.ExitStack):
    """The fork server of this process, from its first notebook on."""

    begun = False

    def begin(self, config: pytest.Config) -> None:
        """Starts it, and has nbval start kernels there."""
        self.begun = True
        share = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="dsim-share-")))
        describe(share, _NAME, self.enter_context(fork_server()))
        known = os.environ.get("JUPYTER_PATH")
        os.environ["JUPYTER_PATH"] = os.pathsep.join([str(share), *([known] if known else [])])
        config.option.nbval_current_env = False
        config.option.nbval_kernel_name = _NAME


_FORKS = _Forks()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before nbval starts the kernel of a notebook."""
    if CAN_FORK and not _FORKS.begun and item.path.suffix == ".ipynb":
        _FORKS.begin(item.config)


def pytest_unconfigure() -> None:
    """The kernels are gone, and nothing forks any more."""
    _FORKS.close()
