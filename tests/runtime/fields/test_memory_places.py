"""Memory begins at lines of the caches, and large memories at different ones."""

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.fields.aliases import address
from dsim.runtime.fields.memory_places import PAGE, like, zeros


@pytest.mark.parametrize("shape", [(1024,), (64, 64), (300, 200, 2)])
def test_large_memories_begin_at_all_lines_of_a_page(shape):
    made = [zeros(shape, np.dtype("f8")) for _ in range(64)]
    assert sorted(address(a) % PAGE for a in made) == list(range(0, PAGE, 64))
    assert all(a.shape == shape and not a.any() and a.flags.carray for a in made)


def test_fields_made_one_after_the_other_do_not_share_sets_of_a_cache():
    fields = [ds.field(ds.f32, shape=(256, 256), needs_grad=True) for _ in range(6)]
    places = {address(f.require_memory()) % PAGE for x in fields for f in (x, x.grad)}
    assert len(places) == 12


@pytest.mark.parametrize("shape", [(), (1,), (5, 7)])
def test_small_memories_begin_at_lines(shape):
    made = zeros(shape, np.dtype("f4"))
    assert address(made) % 64 == 0
    assert made.shape == shape
    assert not made.any()


@pytest.mark.parametrize("place", [0, 64, 2048])
@pytest.mark.parametrize("shape", [(), (7,), (90, 100)])
def test_memory_at_a_place_of_a_page(shape, place):
    made = like(np.ones(shape, np.float32), place)
    assert (made.shape, made.dtype) == (shape, np.float32)
    assert address(made) % PAGE == place
    made.fill(1)
    assert made.sum() == made.size
