"""The values of the inputs that a call of `value_and_grad` is given."""

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from tests.runtime.transforms.programs import oscillators


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64, random_seed=3)


def test_values_for_several_inputs_come_one_by_one_in_a_list_or_by_field():
    o = oscillators()
    f = ti.value_and_grad(o.run, wrt=[o.q, o.k], out=o.energy)
    q, k = np.full(4, 0.3), np.arange(1.0, 5.0)
    expected = f(q, k)[0]
    assert f([q, k])[0] == f((q, k))[0] == f({o.q: q, o.k: k})[0] == expected
    alone = ti.value_and_grad(o.run, wrt=[o.q], out=o.energy)
    assert alone(q)[0] == alone({o.q: q})[0]
    with pytest.raises(GradientError, match="must be 2 arrays, one for each of `wrt=`, got 1"):
        f([q])
