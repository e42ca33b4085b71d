"""NumPy arrays and tensors as arguments of kernels: which memory is written, and when it is copied."""

import weakref

import numpy as np
import pytest

import dsim as ti
from tests.runtime.arrays import start
from tests.runtime.tensors import Tensor


@pytest.fixture(autouse=True, params=["cpu", "reference"])
def _fresh(request):
    start(request.param)


@ti.kernel
def double(a: ti.types.ndarray()):
    for index in ti.grouped(a):
        a[index] *= 2.0


@ti.kernel
def copied(source: ti.types.ndarray(), target: ti.types.ndarray()):
    for index in ti.grouped(source):
        target[index] = source[index]


def test_the_kernel_writes_into_the_array_itself():
    a = np.arange(4.0)
    double(a)
    assert a.tolist() == [0.0, 2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    "part",
    [
        lambda a: a[::2],
        lambda a: a[::-1],
        lambda a: a.T,
        lambda a: a[1:, 1:3],
        lambda a: a[:, 1],
        np.asfortranarray,
        lambda a: a[2:],
        lambda a: a.reshape(-1)[3:],
    ],
)
def test_parts_and_other_orders(part):
    whole = np.arange(20.0).reshape(4, 5)
    given = part(whole)
    right = 2 * given
    left = whole.sum() - given.sum() if np.shares_memory(whole, given) else whole.sum()
    double(given)
    assert (given == right).all()
    outside = whole.sum() - given.sum() if np.shares_memory(whole, given) else whole.sum()
    assert outside == left


def test_an_array_that_is_not_aligned():
    raw = np.zeros(33, np.uint8)
    given = raw[1:].view(np.float64)
    given[...] = [1, 2, 3, 4]
    double(given)
    assert given.tolist() == [2.0, 4.0, 6.0, 8.0]
    assert not given.flags.aligned


def test_subclasses_and_files(tmp_path):
    given = np.memmap(tmp_path / "numbers", np.float64, "w+", shape=(3,))
    given[:] = 1.0
    double(given)
    assert given.tolist() == [2.0] * 3


def test_booleans_and_a_single_number():
    @ti.kernel
    def flip(mask: ti.types.ndarray(), count: ti.types.ndarray(ti.i64, ndim=0)):
        for i in mask:
            if mask[i]:
                count[None] += 1
            mask[i] = not mask[i]

    mask, count = np.array([True, False, True]), np.array(0)
    flip(mask, count)
    assert mask.tolist() == [False, True, False]
    assert count == 2


def test_empty_arrays():
    double(np.zeros(0))
    double(np.zeros((3, 0)))

    @ti.kernel
    def first(a: ti.types.ndarray()) -> float:
        return a[0]

    assert first(np.ones(1)) == 1.0
    with pytest.raises(IndexError, match=r"index 0 is outside `a` of shape \(0,\)"):
        first(np.zeros(0))


def test_what_is_read_only():
    given = np.arange(3.0)
    given.flags.writeable = False
    target = np.zeros(3)
    copied(given, target)
    assert target.tolist() == [0.0, 1.0, 2.0]
    copied(np.broadcast_to(7.0, (3,)), target)
    assert target.tolist() == [7.0] * 3
    with pytest.raises(TypeError, match="argument `a` of `double` is written, and the array is read-only"):
        double(given)
    with pytest.raises(TypeError, match="is written, and the array is read-only"):
        double(np.broadcast_to(7.0, (3,)))
    with pytest.raises(TypeError, match="elements of the array share memory"):
        double(np.lib.stride_tricks.as_strided(np.zeros(5), (3, 3), (8, 8)))


def test_a_fault_leaves_what_was_done():
    @ti.kernel
    def beyond(a: ti.types.ndarray(), n: int):
        for i in range(n):
            a[i] = 1.0

    whole = np.zeros(6)
    with pytest.raises(IndexError):
        beyond(whole[::2], 4)
    assert whole.tolist() == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]


# ------------------------------------------------------------------ arrays that overlap


def test_overlapping_arrays():
    whole = np.arange(6.0)
    with pytest.raises(
        TypeError, match="argument `source` of `copied` and `target` overlap in memory"
    ) as refused:
        copied(whole[:5], whole[1:])
    assert "help: pass a copy of one of them" in str(refused.value)
    with pytest.raises(TypeError, match="overlap"):
        copied(whole.reshape(2, 3)[0], whole[:3][::-1])
    assert whole.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    copied(whole[:3], whole[3:])
    assert whole.tolist() == [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
    copied(whole[::2], whole[1::2])
    assert whole.tolist() == [0.0, 0.0, 2.0, 2.0, 1.0, 1.0]


def test_overlapping_arrays_that_are_only_read():
    @ti.kernel
    def product(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in a:
            out[None] += a[i] * b[i]

    whole, out = np.arange(4.0), ti.ndarray(ti.f64, ())
    product(whole[:3], whole[1:], out)
    assert out[None] == 8.0


def test_one_array_read_as_numbers_and_as_vectors():
    @ti.kernel
    def both(a: ti.types.ndarray(ti.f64, 2), v: ti.types.ndarray(ti.types.vector(2, ti.f64), 1)):
        for i in v:
            a[i, 0] = v[i].x

    a = np.zeros((3, 2))
    with pytest.raises(TypeError, match="argument `a` of `both` and `v` overlap"):
        both(a, a)
    both(a, np.ones((3, 2)))
    assert a[:, 0].tolist() == [1.0] * 3


def test_the_view_of_a_field():
    x = ti.field(ti.f64, shape=3)
    x.fill(2.0)
    target = np.zeros(3)
    copied(x.array, target)
    assert target.tolist() == [2.0] * 3
    with pytest.raises(TypeError, match="is a read-only view of a field") as refused:
        double(x.array)
    assert "help: pass the field" in str(refused.value)
    with pytest.raises(TypeError, match="overlap"):
        copied(x.array[1:], x)
    copied(x.array, x)

    @ti.kernel
    def into_x(a: ti.types.ndarray()):
        for i in a:
            x[i] = a[i]

    with pytest.raises(TypeError, match="argument `a` of `into_x` and `x` overlap in memory"):
        into_x(x.array[1:])
    into_x(np.ones(3))
    assert x.to_numpy().tolist() == [1.0] * 3


def test_the_view_of_a_gradient():
    x = ti.field(ti.f64, shape=3, needs_grad=True)

    @ti.kernel
    def into_gradient(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in b:
            a.grad[i] = b[i]

    @ti.kernel
    def into_known_gradient(b: ti.types.ndarray()):
        for i in b:
            x.grad[i] = b[i]

    part = x.grad.array[1:]
    with pytest.raises(TypeError, match="`b` of `into_gradient` and `a` overlap"):
        into_gradient(x, part)
    with pytest.raises(TypeError, match="`b` of `into_known_gradient` and `x` overlap"):
        into_known_gradient(part)
    into_gradient(x, np.ones(3))
    assert x.grad.to_numpy().tolist() == [1.0] * 3


# ------------------------------------------------------------------ nothing is kept


def test_no_array_is_kept():
    a = np.zeros(1000)
    gone = weakref.ref(a)
    double(a)
    del a
    assert gone() is None


# ------------------------------------------------------------------ tensors of PyTorch's


def test_tensors():
    a = Tensor(np.ones(3), requires_grad=True)
    double(a)
    assert a.array.tolist() == [2.0] * 3
    with pytest.raises(TypeError, match="got a tensor on the device"):
        double(Tensor(np.ones(3), device="cuda"))
    loss = ti.ndarray(ti.f64, (), needs_grad=True)
    with pytest.raises(TypeError, match="requires a gradient, which a tape does not set"), ti.Tape(loss):
        double(a)


def test_an_array_of_repeats_that_cannot_be_copied():
    @ti.kernel
    def first(a: ti.types.ndarray()) -> float:
        return a[0]

    huge = np.broadcast_to(np.float64(0.0), (10**15,))
    with pytest.raises(ti.LaunchError) as caught:
        first(huge)
    message = str(caught.value)
    assert message.startswith(
        "error[memory]: the copy of `a` that `first` needs takes 7.45e+06 GiB, which are not available\n"
    )
    assert message.endswith("help: pass the array before `broadcast_to`, or parts of it")
    assert first(np.broadcast_to(np.float64(2.0), (1000,))) == 2.0


def test_arrays_that_the_compiled_kernel_no_longer_reads():
    """A loop of one iteration has none behind its first, and what ends it early then changes nothing."""

    @ti.kernel
    def once(t: ti.i32, dead: ti.types.ndarray(), alive: ti.types.ndarray(), also: ti.types.ndarray()):
        ti.loop_config(serialize=True)
        for i in range(1):
            if t > 0 and dead[t - 1] < 0.1:
                break
            if i > 0 and also[i - 1] < 0.1:
                alive[0] += 1.0
        alive[1] += 2.0

    target = np.zeros(2)
    once(1, np.ones(4), target, np.ones(2))
    once(1, np.ones(4)[::2], target, np.ones(2))
    assert target.tolist() == [0.0, 4.0]
    fields = [ti.field(ti.f64, shape=n, needs_grad=True) for n in (4, 2, 2)]
    once(1, *fields)
    assert fields[1].to_numpy().tolist() == [0.0, 2.0]
