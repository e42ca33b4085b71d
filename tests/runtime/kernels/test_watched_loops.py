"""The indices by which an iteration is asked for, where loops stand one after the other."""

import dsim as ds
from dsim.runtime.kernels.watching import watch


def test_loops_one_after_the_other_have_one_index_with_the_names_of_all():
    ds.init(default_fp=ds.f64)
    x = ds.field(ds.f64, shape=9)

    @ds.kernel
    def twice():
        for i in range(3):
            x[i] = 1.0
        for t in range(2, 9):
            x[t] = 2.0
        for i in range(5):
            x[i] = 3.0

    watching = watch(twice)
    watching.probe = (7,)
    watching()
    assert watching.loops == [("i/t", 0, 9)]
    assert [w.value for w in watching.results() if w.hits] == [2.0]
