"""Every program gives the same values and gradients with probes in its kernels."""

import zlib

import numpy as np
import pytest

from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.launching.probe_buffers import Looking
from tests.corpus.matrix import Trial, compiled
from tests.corpus.program import PROGRAMS

pytestmark = pytest.mark.filterwarnings(
    "ignore:warning.serial:dsim.DsimWarning", "ignore:warning.unreached:dsim.GradientWarning"
)


# Each takes a compilation of its own: a third of the programs, always the same.
CHOSEN = [name for name in PROGRAMS if zlib.crc32(name.encode()) % 3 == 0]


@pytest.fixture
def looking(monkeypatch):
    """Kernels made from here on show what they do."""
    look, plain = Looking(kinks=True), Kernel.__init__

    def watched(self, function, bound=None, looking=None):
        plain(self, function, bound, look)

    monkeypatch.setattr(Kernel, "__init__", watched)
    return look


@pytest.mark.parametrize("name", CHOSEN)
def test_watching_changes_nothing(name, looking, monkeypatch):
    watched = Trial(name, "f64").outcome()
    shown = looking.results()
    monkeypatch.undo()
    plain = compiled(name, "f64")
    for a, b in ((watched.values, plain.values), (watched.gradient, plain.gradient)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(b).max(initial=0.0)))
    np.testing.assert_allclose(watched.tangents, plain.tangents, rtol=1e-9, atol=1e-9)
    assert any(w.times for w in shown)
