"""What `static` calls on Python objects, whose content changes between launches."""

import numpy as np
import pytest

import dsim as ds


class Scene:
    def __init__(self):
        self.gain, self.offsets, self.weights = 1.0, [1.0, 2.0], np.array([1.0, 2.0])

    def scaled(self):
        return self.gain * sum(self.offsets) * float(self.weights.sum())


offsets, weights, scene = [1.0, 2.0], np.array([1.0, 2.0]), Scene()


@ds.kernel
def largest() -> ds.f64:
    return ds.static(weights.max())


@ds.kernel
def largest_of_a_part() -> ds.f64:
    return ds.static(weights[0:2].max())


@ds.kernel
def largest_of_an_array_by_python() -> ds.f64:
    return ds.static(max(weights))


@ds.kernel
def root_of_squares() -> ds.f64:
    return ds.static(np.sqrt(np.dot(weights, weights) + 0.0 * weights.T.sum()))


@ds.kernel
def counted() -> ds.f64:
    return ds.static(offsets.count(2.0)) + 10.0 * ds.static(sum(offsets))


@ds.kernel
def scaled() -> ds.f64:
    return ds.static(scene.scaled())


@pytest.mark.parametrize(
    ("kernel", "in_python"),
    [
        (largest, weights.max),
        (largest_of_a_part, weights.max),
        (largest_of_an_array_by_python, weights.max),
        (root_of_squares, lambda: np.sqrt(weights @ weights)),
        (counted, lambda: offsets.count(2.0) + 10.0 * sum(offsets)),
        (scaled, scene.scaled),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_a_launch_sees_what_changed(kernel, in_python):
    for weight, offset, gain in ((1.0, 1.0, 1.0), (5.0, 2.0, 1.0), (5.0, 2.0, 3.0)):
        weights[0] = scene.weights[0] = weight
        offsets[0] = scene.offsets[0] = offset
        scene.gain = gain
        assert kernel() == pytest.approx(in_python(), rel=1e-15)
