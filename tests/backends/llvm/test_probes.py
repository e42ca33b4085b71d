"""Probes in machine code: each is one call of a function shared by all modules, and compiles quickly."""

import numpy as np

import dsim as ds
from dsim import frontend
from dsim.backends.cpu.compiled import _TARGET
from dsim.backends.llvm.kernel import Wishes
from dsim.backends.llvm.parallel import emit
from dsim.ir.nodes import Probe
from dsim.ir.types import f64
from dsim.ir.walk import statements
from dsim.runtime.driver import pipeline
from dsim.runtime.kernels.watching import watch


def emitted(kernel, **settings):
    lowered = frontend.lower(kernel.function, frontend.LoweringSettings(default_fp=f64, **settings))
    made, _ = pipeline.prepared(lowered.kernel, lowered.loops, fast_math=True)
    return made, emit.emit(made, _TARGET, Wishes(lambda site: True, checks=False))


def test_each_is_a_call():
    ds.init(default_fp=ds.f64)
    x = ds.field(ds.f64, shape=4, needs_grad=True)

    @ds.kernel
    def k():
        for i in x:
            n = i + 1
            a = x[i] * n
            x[i] = max(a, 1.0)

    plain, watched = emitted(k)[1], emitted(k, watch=True, kinks=True)
    kernel, found = watched
    count = sum(isinstance(s, Probe) for s in statements(kernel.body))
    assert count == 5
    assert found.text.count("call void @dsim_watch_") == count
    assert set(found.shared) == {
        "dsim_watch_value_i32_i32",  # integers, at an index
        "dsim_watch_value_f64_i32",
        "dsim_watch_value_f64_i32_tie",
    }
    assert not any("dsim_watch" in name for name in plain.shared)


def test_all_types_of_values_and_indices():
    """Each type has a function of its own, in whatever width its values come."""
    ds.init(default_fp=ds.f64)
    out = ds.field(ds.f64, shape=3)

    @ds.kernel
    def k():
        for i in range(3):
            a = ds.cast(i - 1, ds.i8)
            b = ds.cast(i, ds.u64) + ds.cast(2**40, ds.u64)
            c = ds.cast(i, ds.i64) - 2**40
            d = ds.cast(0.5, ds.f32) + i
            e = ds.cast(0.25, ds.f16)
            out[i] = float(a) + d + e + 0.0 * float(b) + 0.0 * float(c)

    watching = watch(k)
    watching.probe = (2,)
    watching()
    got = {w.slot.name: w.value for w in watching.results()}
    assert {n: got[n] for n in "abcde"} == {"a": 1, "b": 2**40 + 2, "c": 2 - 2**40, "d": 2.5, "e": 0.25}
    np.testing.assert_array_equal(out.to_numpy(), [-0.25, 1.75, 3.75])
