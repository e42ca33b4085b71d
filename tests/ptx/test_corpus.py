"""A sample of the corpus as PTX, primal and adjoint, and as machine code of five architectures.

`make ptx` does this for all of the corpus, on one architecture.
"""

import re
from functools import cache

import pytest

from dsim.backends.cuda import toolchain
from dsim.backends.cuda.assemble import assemble
from tests.ptx.kernels import kernels_of

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")

# reductions; atomics; loops that end early; undo logs and buffers of a length known at run time; integers
PLAIN = (
    "atomic_maximum",
    "break_out_of_the_outermost_loop",
    "sorted_in_place",
    "loops_of_data_length_in_loops_of_data_length",
    "mean_and_variance",
    "scattering_stencil",
    "sum_of_vectors",
    "while_true_with_a_break",
)
MATHEMATICAL = ("functions_by_their_names_in_math", "material_points", "random_path", "remainders")
SPACES = {"global", "shared", "local", "param", "const"}
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


@cache
def kernels(program, real):
    return kernels_of(program, real)


def check(text):
    """It has entries, is whole, and each access says which memory it is of."""
    assert ".visible .entry " in text
    found = re.findall(r"^\t(?:@!?%p\d+ )?((?:ld|st|red|atom)\.[\w.]*)", text, re.MULTILINE)
    spaces = {space for each in found for space in each.split(".") if space in SPACES}
    assert "global" in spaces
    assert [each for each in found if not SPACES & set(each.split("."))] == []
    assert ".extern .func" not in text
    assert "dsim_" not in text.replace("dsim_shared", "")


@pytest.mark.parametrize("real", ["f32", "f64"])
@pytest.mark.parametrize("program", PLAIN)
def test_without_mathematical_functions(program, real, monkeypatch):
    monkeypatch.setattr(toolchain, "libdevice", lambda: None)
    found = kernels(program, real)
    assert len(found) >= 2
    for each in found:
        check(each.ptx("sm_75").text)


@pytest.mark.cuda_tools("libdevice")
@pytest.mark.parametrize("real", ["f32", "f64"])
@pytest.mark.parametrize("program", MATHEMATICAL)
def test_with_mathematical_functions(program, real):
    for each in kernels(program, real):
        check(each.ptx("sm_90").text)


@pytest.mark.slow
@pytest.mark.cuda_tools("libdevice", "ptxas")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("program", [*PLAIN, *MATHEMATICAL])
def test_assembled(program, architecture):
    assembler = toolchain.ptxas().path
    for each in kernels(program, "f64"):
        for entry, taken in assemble(each.ptx(architecture), assembler).resources.items():
            # so that a block of 256 threads can be launched, whatever it is
            assert 0 < taken.registers <= 255, entry
            assert taken.spills == 0, entry
