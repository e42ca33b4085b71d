"""PTX of kernels in grid form: what becomes of what their text leaves to the target."""

import re

import llvmlite.binding as llvm
import pytest

from dsim.backends.cuda import ptx, toolchain
from dsim.backends.cuda.architectures import VERSIONS
from dsim.backends.cuda.kernels import emit_kernel
from dsim.backends.cuda.ptx import compile_ptx
from dsim.diagnostics import ArgumentError, DeviceError
from dsim.ir.primitive import Libm
from dsim.ir.primitives import TABLE
from dsim.ir.types import f32
from tests.backends.cuda import texts
from tests.backends.llvm.grid.test_copies import histogram

LIBM = sorted({p.lowering.name for p in TABLE.values() if isinstance(p.lowering, Libm)} | {"fmod"})


def instructions(text):
    """The instructions of a text, in order."""
    return re.findall(r"^\t(?:@!?%p\d+ )?([a-z][\w.]*)", text, re.MULTILINE)


@pytest.fixture
def no_libdevice(monkeypatch):
    monkeypatch.setattr(toolchain, "libdevice", lambda: None)


def test_accesses_of_fields_are_of_global_memory(no_libdevice):
    found = instructions(compile_ptx(texts.module(), "k").text)
    assert found.count("ld.global.b64") == 2  # the addresses of the fields
    assert {i for i in found if i.startswith(("ld.", "st."))} - {"ld.param.b64", "ld.global.b64"} == {
        "ld.global.b32",
        "st.global.b32",
    }


def test_an_entry_reads_the_place_of_its_thread():
    made = compile_ptx(texts.module(), "k")
    assert made.entries == ("copy_entry",)
    assert made.text.count(".visible .entry ") == 1
    special = dict(re.findall(r"mov\.u32 \t(%r\d+), %(\w+)\.x;", made.text))
    assert sorted(special.values()) == ["ctaid", "nctaid", "ntid", "tid"]
    # it begins at its place in the grid, and goes on by the number of all threads
    products = re.findall(r"mul\.wide\.u32 \t(%rd\d+), (%r\d+), (%r\d+);", made.text)
    of = {frozenset((special[a], special[b])): product for product, a, b in products}
    first, step = of[frozenset(("ctaid", "ntid"))], of[frozenset(("nctaid", "ntid"))]
    (thread,) = re.findall(
        rf"cvt\.u64\.u32 \t(%rd\d+), {next(r for r, of in special.items() if of == 'tid')};", made.text
    )
    assert re.search(rf"add\.s64 \t%rd\d+, ({first}, {thread}|{thread}, {first});", made.text)
    assert re.search(rf"add\.s64 \t(%rd\d+), \1, {step};", made.text)


def test_the_head_says_how_it_is_launched():
    lines = compile_ptx(texts.turning(), "turn", "sm_90").text.splitlines()
    assert lines[:2] == [
        "// turn: PTX 7.8 for sm_90 and newer, launched in this order:",
        "//   turn_entry: 1 block of up to 256 threads, 8 bytes of shared memory for each",
    ]


@pytest.mark.parametrize(("needed", "threads"), [(8, 256), (192, 256), (200, 224), (384, 128)])
def test_a_block_has_no_more_threads_than_its_shared_memory_is_for(needed, threads):
    line = compile_ptx(texts.turning(needed), "turn").text.splitlines()[1]
    assert f"1 block of up to {threads} threads, {needed} bytes of shared memory for each" in line
    assert needed * threads <= 48 * 1024


@pytest.mark.parametrize(("each", "block", "threads"), [(8, 4096, 256), (384, 4096, 96), (0, 4096, 256)])
def test_nor_more_than_what_copies_leave_room_for(each, block, threads):
    line = compile_ptx(texts.turning(each, block), "turn").text.splitlines()[1]
    sizes = f"{each} bytes of shared memory for each, and {block} for the block"
    alone = f"{block} bytes of shared memory for the block"
    assert line.endswith(f"up to {threads} threads, {sizes if each else alone}")
    assert each * threads + block <= 48 * 1024


def test_copies_are_in_shared_memory():
    kernel, _ = histogram(t=f32)
    text = compile_ptx(emit_kernel(kernel), "histogram").text
    assert text.splitlines()[1].endswith(", 152 bytes of shared memory for the block")
    kinds = "bar.", "ld.shared", "st.shared", "atom.", "red."
    found = [i for i in instructions(text) if i.startswith(kinds)]
    assert [re.sub(r"^red\.", "atom.", i) for i in found] == [
        "st.shared.b32",
        "bar.sync",
        "atom.shared.add.f32",
        "bar.sync",
        "ld.shared.b32",
        "atom.global.add.f32",
    ]


def test_a_barrier_stands_between_what_it_stood_between():
    made = compile_ptx(texts.turning(), "turn").text
    found = [i for i in instructions(made) if i.startswith(("bar.", "ld.shared", "st.shared"))]
    assert found == ["st.shared.b64", "bar.sync", "ld.shared.b64"]
    assert ".extern .shared .align 8 .b8 dsim_shared[]" in made  # as many bytes as the launch says


def test_division_and_square_root_round_to_nearest():
    flags = "reassoc nsz arcp contract"
    quotient = compile_ptx(texts.module(f"%y = fdiv {flags} float 3.0, %x"), "k").text
    assert "div.rn.f32" in quotient
    declared = "declare float @llvm.sqrt.f32(float)"
    root = texts.module(f"%y = call {flags} float @llvm.sqrt.f32(float %x)", declared=declared)
    assert "sqrt.rn.f32" in compile_ptx(root, "k").text


@pytest.mark.parametrize("flags", ["", "contract"])
def test_only_what_may_be_contracted_is(flags):
    value = f"%p = fmul {flags} float %x, %x\n%y = fadd {flags} float %p, 1.0"
    assert ("fma.rn.f32" in instructions(compile_ptx(texts.module(value), "k").text)) == bool(flags)


@pytest.mark.parametrize("architecture", VERSIONS)
def test_each_architecture(architecture, no_libdevice):
    text = compile_ptx(texts.module(), "k", architecture).text
    assert f".version {VERSIONS[architecture]}\n.target {architecture}\n" in text


def test_an_architecture_that_is_none():
    with pytest.raises(ArgumentError, match=r"no PTX for `sm_1`\n(?s:.*)help: choose one of sm_75, sm_80"):
        compile_ptx(texts.module(), "k", "sm_1")


def test_the_same_text_each_time():
    assert compile_ptx(texts.module(), "k") == compile_ptx(texts.module(), "k")


# mathematical functions --------------------------------------------------------------------------


def test_without_libdevice(no_libdevice):
    with pytest.raises(DeviceError) as error:
        compile_ptx(texts.calling("sin", "exp"), "swing")
    message = "`swing` calls exp, sin, and libdevice, which has them for devices, is not installed"
    assert error.value.diagnostics[0].message == message
    assert error.value.diagnostics[0].remedy == toolchain.LIBDEVICE_HELP


@pytest.fixture
def small_library(monkeypatch, tmp_path):
    """A libdevice with two functions and what one of them calls."""
    text = """
    define double @__nv_sin(double %x) { %y = call double @helper(double %x) ret double %y }
    define double @__nv_cos(double %x) { ret double 0.25 }
    define double @helper(double %x) noinline { %y = fadd double %x, 0.5 ret double %y }
    """
    path = tmp_path / "libdevice.10.bc"
    with llvm.parse_assembly(text) as module:
        path.write_bytes(module.as_bitcode())
    monkeypatch.setattr(toolchain, "libdevice", lambda: path)
    return path


def test_only_what_is_called_of_libdevice_is_linked(small_library):
    text = compile_ptx(texts.calling("sin"), "k").text
    assert re.findall(r"^\.func .*?(\w+)[(]?$", text, re.MULTILINE)[-1] == "helper"
    assert "0d3FE0000000000000" in text  # 0.5
    assert "0d3FD0000000000000" not in text  # 0.25
    assert "__nv_" not in text
    assert ".visible .func" not in text


def test_a_function_that_libdevice_lacks(small_library):
    with pytest.raises(DeviceError, match=r"libdevice\.10\.bc has no __nv_tan"):
        compile_ptx(texts.calling("sin", "tan"), "k")


@pytest.mark.cuda_tools("libdevice")
@pytest.mark.parametrize("kind", ["float", "double"])
def test_libdevice_has_every_function(kind):
    names = frozenset(ptx._of_libdevice(name, {"float": "f32", "double": "f64"}[kind]) for name in LIBM)
    assert len(names) > 15
    needed = ptx._needed(toolchain.libdevice(), names)
    with llvm.parse_bitcode(needed) as module:
        seen = {f.name for f in module.functions if f.linkage == llvm.Linkage.external}
        assert {n for n in seen if not n.startswith("llvm.")} - {"__nvvm_reflect"} == names


@pytest.mark.cuda_tools("libdevice")
def test_functions_of_libdevice_are_part_of_the_text():
    text = compile_ptx(texts.calling("exp", "log"), "k").text
    assert "fma.rn.f64" in text
    assert ".extern .func" not in text
    assert "__nv_" not in text
