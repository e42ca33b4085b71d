"""Random kernels that overwrite what they read: gradients match differences, fields are restored bitwise."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.autodiff import reverse_mode
from dsim.ir.nodes import KernelIR
from dsim.passes.parallelization import parallel
from tests.autodiff.inplace import Buffers, Case
from tests.autodiff.random_kernels import InPlace, N, X, Y, in_single

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_code")]


def state(seed: int) -> Buffers:
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 4, 4).astype(np.int32)
    return {X.key: rng.uniform(-1, 1, 4), Y.key: rng.uniform(-1, 1, 4), N.key: n}


def case(seed: int) -> Case:
    return Case(parallel(InPlace(seed).kernel()), state(seed), seed)


@pytest.mark.parametrize("seed", range(30))
def test_first_order(seed: int) -> None:
    case(seed).hold(rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(100, 115))
def test_all_by_undo_logs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(kernel: KernelIR, _: object) -> KernelIR:
        return kernel

    monkeypatch.setattr(reverse_mode, "promote_scalars", nothing)
    case(seed).hold(rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(200, 210))
def test_forward_mode_over_it(seed: int) -> None:
    case(seed).tangent_of_adjoint()


@pytest.mark.parametrize("seed", range(300, 310))
def test_single_precision(seed: int) -> None:
    wide = case(seed)
    buffers = {key: a.astype("f4") if a.dtype.kind == "f" else a for key, a in wide.buffers.items()}
    narrow = Case(in_single(wide.kernel), buffers, seed)
    found = narrow.swept(narrow.adjoint.kernel, buffers)
    expected = wide.swept(wide.adjoint.kernel, wide.buffers)
    for key in wide.weights:
        bar = (key[0], ("bar",))
        np.testing.assert_allclose(found[bar], expected[bar], rtol=2e-4, atol=2e-5)
    narrow.agree(found, rtol=2e-4)
