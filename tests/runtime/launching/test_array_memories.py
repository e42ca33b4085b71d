"""Every combination of arrays that may share memory: a launch is equivalent to the loop, or refused."""

import itertools
import warnings

import numpy as np
import pytest

import dsim as ti


class World:
    """Memories, and arrays that are made of them in many ways."""

    def __init__(self):
        self.base = np.arange(1.0, 7.0)
        self.other = np.arange(11.0, 15.0)
        self.x = ti.field(ti.f64, shape=4, needs_grad=True)
        self.y = ti.field(ti.f64, shape=6)
        self.n = ti.ndarray(ti.f64, 4)
        self.reset()

    def reset(self):
        self.base[...] = np.arange(1.0, 7.0)
        self.other[...] = np.arange(11.0, 15.0)
        self.x.from_numpy(np.arange(21.0, 25.0))
        self.x.grad.from_numpy(np.arange(31.0, 35.0))
        self.y.from_numpy(np.arange(41.0, 47.0))
        self.n.from_numpy(np.arange(51.0, 55.0))

    def arrays(self):
        """What is passed, and the memory and the places in it that are meant."""
        up, down = np.arange(4), np.arange(3, -1, -1)
        return {
            "start": (self.base[:4], "base", up),
            "again": (self.base[:4], "base", up),
            "shifted": (self.base[1:5], "base", up + 1),
            "reversed": (self.base[3::-1], "base", down),
            "other": (self.other, "other", up),
            "field": (self.x, "x", up),
            "view": (self.x.array, "x", up),
            "gradient": (self.x.grad, "gx", up),
            "gradient view": (self.x.grad.array, "gx", up),
            "part": (self.y.array[1:5], "y", up + 1),
            "ndarray": (self.n, "n", up),
        }

    def state(self):
        return {
            "base": self.base.copy(),
            "other": self.other.copy(),
            "x": self.x.array.copy(),
            "gx": self.x.grad.array.copy(),
            "y": self.y.array.copy(),
            "n": self.n.array.copy(),
        }


@ti.kernel
def mix(a: ti.types.ndarray(), b: ti.types.ndarray(ti.f64, 1), c: ti.types.ndarray()):
    for i in range(3):
        c[i] = 2 * a[i + 1] + b[i]


def by_hand(state, a, b, c):
    for i in range(3):
        state[c[0]][c[1][i]] = 2 * state[a[0]][a[1][i + 1]] + state[b[0]][b[1][i]]
    return state


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.slow
def test_all_combinations(inside):
    ti.init(default_fp=ti.f64)
    world, loss, done = World(), ti.ndarray(ti.f64, (), needs_grad=True), 0
    for names in itertools.product(world.arrays(), repeat=3):
        world.reset()
        chosen = [world.arrays()[name] for name in names]
        right = by_hand(world.state(), *(c[1:] for c in chosen))
        before = world.state()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if inside:
                    with ti.Tape(loss, clear_gradients=False):
                        mix(*(c[0] for c in chosen))
                else:
                    mix(*(c[0] for c in chosen))
        except TypeError:
            right = before
        else:
            done += 1
        for name, values in world.state().items():
            assert values.tolist() == right[name].tolist(), (names, name)
    assert done > 600
