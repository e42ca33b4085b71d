"""What ptxas and nvdisasm say, read from what they print; and of themselves, where they are installed."""

import re

import pytest

from dsim.backends.cuda import toolchain
from dsim.backends.cuda.assemble import Resources, assemble, hot_loops, innermost_loops
from dsim.backends.cuda.ptx import Ptx, compile_ptx
from dsim.diagnostics import DeviceError
from tests.backends.cuda import texts

SAID = """\
ptxas info    : 272 bytes gmem
ptxas info    : Compiling entry function 'a_entry' for 'sm_90'
ptxas info    : Function properties for a_entry
    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 44 registers, used 1 barriers, 56 bytes cumulative stack size
ptxas info    : Function properties for helper
    40 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'b_entry' for 'sm_90'
ptxas info    : Function properties for b_entry
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers
"""
TEXT = Ptx("// nothing", "sm_90", ("a_entry", "b_entry"))


@pytest.fixture
def player(tmp_path):
    """Makes a program that prints a text, and ends with a status."""

    def play(said, status=0, to="2"):
        (tmp_path / "said").write_text(said)
        path = tmp_path / "tool"
        # what an assembler makes is its last argument
        path.write_text(
            f"#!/bin/sh\nfor last; do :; done\necho \"$@\" > '{tmp_path}/args'\n"
            f"[ {to} = 2 ] && echo code > \"$last\"\ncat '{tmp_path}/said' >&{to}\nexit {status}\n"
        )
        path.chmod(0o755)
        return path

    return play


def test_what_each_entry_takes(player, tmp_path):
    made = assemble(TEXT, player(SAID))
    assert made.resources == {"a_entry": Resources(44, 56, 56), "b_entry": Resources(18, 0, 8)}
    assert made.cubin == b"code\n"
    assert "-arch=sm_90 " in (tmp_path / "args").read_text()


def test_for_a_newer_architecture(player, tmp_path):
    assemble(TEXT, player(SAID), "sm_120")
    assert "-arch=sm_120 " in (tmp_path / "args").read_text()


def test_what_ptxas_refuses(player):
    with pytest.raises(DeviceError, match=r"ptxas refuses this text for sm_90: line 3; fatal: no\n"):
        assemble(TEXT, player("line 3\nfatal: no\n", status=255))


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (SAID.replace("b_entry", "c_entry"), "tells of"),
        (SAID.replace("Used 44", "Took 44"), "does not say what"),
    ],
)
def test_what_it_does_not_say(player, said, what):
    with pytest.raises(ValueError, match=what):
        assemble(TEXT, player(said))


CODE = """\
	.section	.text.a_entry,"ax",@progbits
.text.a_entry:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_3:
        /*0010*/                   S2R R3, SR_TID.X ;
.L_x_1:
        /*0020*/                   IADD3 R13, P1, R15, UR6, RZ ;
        /*0030*/              @!P0 BRA `(.L_x_2) ;
        /*0040*/                   FFMA R0, R0, R1, R2 ;
.L_x_2:
        /*0050*/                   BSYNC B0 ;
        /*0060*/               @P0 BRA P1, `(.L_x_1) ;
        /*0070*/               @P1 BRA `(.L_x_3) ;
        /*0080*/                   EXIT ;
.L_x_4:
        /*0090*/                   BRA `(.L_x_4);
        /*00a0*/                   NOP ;
$a_entry$slow:
.L_x_5:
        /*00b0*/                   FADD R0, R0, R1 ;
        /*00c0*/              @!P2 BRA `(.L_x_5) ;
.text.b_entry:
        /*0000*/                   EXIT ;
"""


def test_innermost_loops_of_each_entry(player, tmp_path):
    made = assemble(TEXT, player(SAID))
    assert hot_loops(made, player(CODE, to="1")) == {"a_entry": (5,), "b_entry": ()}


def test_loops_one_after_the_other():
    line = "/*0000*/ {} ;"
    code = [".L_x_1:", line.format("FADD"), line.format("@P0 BRA `(.L_x_1)"), line.format("MOV"), ".L_x_2:"]
    code += [line.format("FADD"), line.format("FADD"), line.format("@P0 BRA `(.L_x_2)")]
    assert innermost_loops(code) == (2, 3)


def test_what_nvdisasm_refuses(player):
    made = assemble(TEXT, player(SAID))
    with pytest.raises(DeviceError, match="nvdisasm refuses this machine code: too new"):
        hot_loops(made, player("too new\n", status=1))


@pytest.mark.cuda_tools("ptxas")
def test_ptxas_takes_it():
    found = toolchain.ptxas().path
    made = assemble(compile_ptx(texts.module(), "k"), found)
    assert made.cubin.startswith(b"\x7fELF")
    assert 0 < made.resources["copy_entry"].registers < 64
    assert assemble(compile_ptx(texts.turning(), "k"), found, "sm_90").resources["turn_entry"].local == 0


@pytest.mark.cuda_tools("ptxas")
def test_ptxas_refuses_what_is_wrong():
    made = compile_ptx(texts.module(), "k")
    broken = made._replace(text=re.sub(r"st\.global\.b32", "st.global.b99", made.text))
    with pytest.raises(DeviceError, match="ptxas refuses this text for sm_75"):
        assemble(broken, toolchain.ptxas().path)


@pytest.mark.cuda_tools("ptxas", "nvdisasm")
def test_nvdisasm_shows_the_loop():
    made = assemble(compile_ptx(texts.module(), "k"), toolchain.ptxas().path)
    (loop,) = hot_loops(made, toolchain.nvdisasm().path)["copy_entry"]
    assert 4 <= loop < 200
