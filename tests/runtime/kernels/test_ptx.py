"""`k.ptx`: the text of a kernel, of its derivatives, and of one that is compiled for some arguments."""

import re

import numpy as np
import pytest

import dsim as ti
from dsim.backends.cuda import toolchain


@pytest.fixture
def fields():
    ti.init(default_fp=ti.f32)
    x, y = (ti.field(ti.f32, shape=16, needs_grad=True) for _ in range(2))
    return x, y


@pytest.fixture
def gather(fields):
    x, y = fields
    index = ti.field(ti.i32, shape=16)

    @ti.kernel
    def gather():
        for i in y:
            y[i] = x[index[i]]

    return gather


def entries(text):
    return re.findall(r"\.visible \.entry (\w+)\(", text)


def test_a_kernel_and_its_derivatives(fields):
    x, y = fields

    @ti.kernel
    def square():
        for i in x:
            y[i] += x[i] * x[i]

    assert square.ptx == square.primal.ptx
    assert square.ptx.startswith("// square: PTX 6.3 for sm_75 and newer")
    for form in (square.primal, square.tangent, square.adjoint):
        assert entries(form.ptx) == ["task_0_entry"]
    # x and y, which is read and written; y_bar, x, and x_bar
    assert [form.ptx.count("ld.global.b32") for form in (square.primal, square.adjoint)] == [2, 3]


def test_a_scattering_adjoint_adds_atomically(gather):
    assert "red.global.add.f32" not in gather.ptx
    assert re.search(r"(red|atom)\.global\.add\.f32", gather.adjoint.ptx)


def test_tasks_run_in_their_order(fields):
    x, y = fields

    @ti.kernel
    def both():
        for i in x:
            x[i] = 1.0
        y[0] = x[3]
        for i in y:
            y[i] += x[i]

    launched = re.findall(r"^//   (\w+): (.*)$", both.ptx, re.MULTILINE)
    assert [name for name, _ in launched] == entries(both.ptx)
    parallel = "any number of blocks of up to 256 threads"
    assert [size for _, size in launched] == [parallel, "1 block of 1 thread", parallel]


def test_another_architecture(fields):
    x, _ = fields

    @ti.kernel
    def double():
        for i in x:
            x[i] *= 2.0

    assert ".target sm_90" in double.primal.ptx_for("sm_90")
    with pytest.raises(ti.ArgumentError, match=r"no PTX for `sm_61`\n(?s:.*)help: choose one of sm_75"):
        double.primal.ptx_for("sm_61")


def test_for_some_arguments(fields):
    x, y = fields

    @ti.kernel
    def scale(a: ti.template(), factor: float):
        for i in a:
            a[i] *= factor

    with pytest.raises(ti.LaunchTypeError, match=r"choose one: `scale\.of"):
        _ = scale.ptx
    text = scale.of(x).ptx
    assert scale.ptx == text  # it is the only one
    scale(y, 2.0)
    with pytest.raises(ti.LaunchTypeError, match="has a kernel for each a: 2 of them"):
        _ = scale.ptx
    assert entries(scale.of(y).ptx) == entries(text)


def test_for_arrays_that_it_was_launched_with(fields):
    @ti.kernel
    def fill(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in a:
            a[i] = 1.0

    fill(np.zeros(4, np.float32))
    assert "st.global.b32" in fill.ptx


def test_indices_are_checked_there_too(gather):
    checked = gather.ptx
    ti.init(check_bounds=False)
    assert len(gather.ptx) < len(checked)
    assert "setp" in checked


def test_without_libdevice(fields, monkeypatch):
    x, y = fields
    monkeypatch.setattr(toolchain, "libdevice", lambda: None)

    @ti.kernel
    def wave():
        for i in x:
            y[i] = ti.sin(x[i])

    @ti.kernel
    def root():
        for i in x:
            y[i] = ti.sqrt(x[i]) + ti.floor(x[i])

    with pytest.raises(ti.DeviceError, match=r"`wave` calls sin, and libdevice(?s:.*)help: pip install"):
        _ = wave.ptx
    assert "sqrt.rn.f32" in root.ptx


def test_people_find_it(fields):
    x, _ = fields

    @ti.kernel
    def double():
        for i in x:
            x[i] *= 2.0

    assert "ptx" in dir(double)
    assert {"ptx", "ptx_for"} <= set(dir(double.primal))


def test_no_loop_is_vectorised():
    """LLVM would pack small integers of a loop into registers, and take them apart again."""
    x, y = (ti.field(ti.i8, shape=(64, 64)) for _ in range(2))

    @ti.kernel
    def double():
        for i in range(64):
            for j in range(64):
                y[i, j] = x[i, j] + x[i, j]

    assert "ld.global.b8" in double.ptx
    assert "prmt." not in double.ptx


def test_residuals_are_counted_for_the_threads_of_a_device(fields):
    """8 KB of an iteration are little for the threads of a processor; not for all of a device's at once."""
    x, y = fields

    @ti.kernel
    def grow():
        for i in x:
            v = x[i]
            for _ in range(2000):
                v += v * v
            y[i] = v

    plain, processor = grow.adjoint.ptx, grow.adjoint.llvm
    ti.init(loop_memory=1 << 40)
    assert grow.adjoint.llvm == processor
    assert grow.adjoint.ptx != plain
