"""A sample of the corpus in grid form; `python -m tests.backends.llvm.grid` runs all of it."""

from collections import Counter

import pytest

from tests.backends.llvm.grid import corpus
from tests.corpus.matrix import REALS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("quick_code"),
    # Some programs have loops that cannot be parallel, and dsim says so.
    pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning"),
]

SAMPLE = (
    "sum_of_a_plane",
    "mean_and_variance",
    "atomic_add_and_sub",
    "bins_by_their_fullest",
    "histogram_with_soft_bins",
    "scattering_stencil",
    "particles_to_a_grid",
    "random_path",
    "every_operator_in_place",
    "sorted_in_place",
    "gauss_seidel",
    "stack_of_indices",
    "private_buffer",
    "while_over_the_data",
    "loop_of_a_length_given_at_run_time",
    "three_levels",
    "triangular_loops",
    "carried_maximum",
    "return_from_a_while_in_a_func",
    "entry_of_a_local_vector_written",
    "own_vjp_in_a_loop",
    "statements_between_loops",
    "mixed_precision",
)
SECOND = ("scatter", "grown_in_place", "while_over_a_counter", "carried_product")
FOUND: Counter[str] = Counter()


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("grid", corpus.GRIDS, ids=str)
def test_values_and_derivatives(name, real, grid):
    FOUND.update(corpus.forms(corpus.check(name, real, grid)))


@pytest.mark.filterwarnings("ignore:warning.unreached:dsim.GradientWarning")
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name):
    assert corpus.forms(corpus.check_second_derivatives(name, corpus.GRIDS[0]))["parallel kernels"]


def test_the_sample_has_every_form():
    if not FOUND:  # run by itself
        FOUND.update(corpus.forms(m for name in SAMPLE for m in corpus.check(name, "f64", corpus.GRIDS[0])))
    kinds = {f"{kind} kernels" for kind in ("parallel", "serial", "combine")}
    assert set(FOUND) >= {*corpus.FORMS, *kinds}
