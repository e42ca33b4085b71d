"""Bundles, replayed on a device that is this processor: kernels in grid form, on memory of its own."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dsim as ds
from dsim.backends.cpu import images
from dsim.backends.cpu.code import MachineCode
from dsim.backends.cuda import ptx
from dsim.backends.llvm.grid import prints
from dsim.backends.llvm.grid.module import GridModule
from tests.backends.llvm.grid import on_cpu
from tests.device.bundle import Bundle, Writer
from tests.device.player import Grid, Player, rows
from tests.device.programs import record_program
from tests.device.recording import SLOTS, Sequence, recorded
from tests.device.reports import record_reports

pytestmark = [
    pytest.mark.usefixtures("quick_code"),
    pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning"),
]

GRID = Grid(2, 2)


class Processor:
    """A `Device`: the first entry of a module runs all of them, on a small grid."""

    def __init__(self, modules: dict[str, GridModule]) -> None:
        self.modules = modules
        self.memory: dict[int, np.ndarray] = {}
        self._code: list[tuple[MachineCode, Callable[[int], int]]] = []

    def allocate(self, size: int) -> int:
        made = np.full(max(size, 8), 0xA5, np.uint8)
        self.memory[made.ctypes.data] = made
        return made.ctypes.data

    def free(self, address: int) -> None:
        del self.memory[address]

    def fill(self, address: int, byte: int, size: int) -> None:
        self.memory[address][:size] = byte

    def upload(self, address: int, array: np.ndarray) -> None:
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def download(self, array: np.ndarray, address: int) -> None:
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def load(self, ptx: str, entries: list[str]) -> list[int]:
        module = self.modules[ptx]
        emitted = on_cpu.emitted(module, on_cpu.Grid(*GRID), module.layout.returns)
        code = MachineCode(emitted.text, emitted.shared, images.QUICK)
        self._code.append((code, ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(code.entry)))
        return [len(self._code), *[0 for _ in entries[1:]]]

    def launch(self, function: int, blocks: int, threads: int, shared: int, frame: int) -> None:
        if function:
            self._code[function - 1][1](frame)


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, GridModule]:
    """The kernels that are compiled to PTX, by their text."""
    found: dict[str, GridModule] = {}
    compile_ptx = ptx.compile_ptx

    def kept(module: GridModule, *args: str) -> ptx.Ptx:
        made = compile_ptx(module, *args)
        found[made.text] = module
        return made

    monkeypatch.setattr(ptx, "compile_ptx", kept)
    return found


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "bundle.zip", SLOTS)


def replayed(writer: Writer, modules: dict[str, GridModule]) -> list[tuple[str, list[str]]]:
    """The label of each run, and what it shows to be wrong."""
    writer.close()
    bundle = Bundle(Path(writer.path))
    device = Processor(modules)
    player = Player(device, bundle)
    found = [(run.label, player.play(run, GRID).wrong) for run in bundle.runs]
    assert not device.memory
    return found


@pytest.mark.slow
@pytest.mark.parametrize("real", ["f32", "f64"])
@pytest.mark.parametrize("program", ["atomic_maximum", "sorted_in_place", "mean_and_variance"])
def test_what_is_recorded_holds(program, real, writer, modules):
    record_program(writer, program, real)
    found = replayed(writer, modules)
    assert len(found) >= 3  # values, tangents, gradient
    assert [wrong for _, wrong in found if wrong] == []


@pytest.mark.slow
def test_another_value_is_found(writer, modules):
    record_program(writer, "sorted_in_place", "f64")
    run = writer.runs[0]
    changed = next(b for b in run.buffers if b.after is not None and b.dtype == "float64")
    changed.after = writer.array(np.full(changed.shape, 3.25))
    found = replayed(writer, modules)
    assert found[0][1]
    assert not any(wrong for _, wrong in found[1:])


@pytest.mark.slow
def test_launches_that_do_nothing_are_found(writer, modules, monkeypatch):
    record_program(writer, "gravity", "f64")
    monkeypatch.setattr(Processor, "launch", lambda *_: None)
    assert [label for label, wrong in replayed(writer, modules) if not wrong] == []


@pytest.mark.slow
def test_a_run_of_several_launches_with_what_the_host_writes_in_between(writer, modules):
    ds.init(default_fp=ds.f64)
    x = ds.field(ds.f64, shape=9, needs_grad=True)
    loss, trips = ds.field(ds.f64, shape=(), needs_grad=True), ds.field(ds.i32, shape=())
    x.from_numpy(np.linspace(0.1, 0.9, 9))
    trips[None] = 20

    @ds.kernel
    def iterate():
        for i in x:
            for _ in range(trips[None]):
                x[i] = 1.1 * x[i] * (2.0 - x[i])  # overwritten: the tape puts `x` back, the adjoint logs it

    @ds.kernel
    def add():
        for i in x:
            loss[None] += x[i]

    observer = Sequence(writer, "iterated")
    with recorded(writer, observer), ds.ad.Tape(loss):
        iterate()
        add()
    observer.finish()
    assert any(launch.uploads for launch in observer.run.launches)
    assert any(entry.pool for module in writer.modules for entry in module.entries)
    assert replayed(writer, modules) == [("iterated", [])]


@pytest.mark.parametrize(
    ("words", "used"), [([], 5), ([3, 1 + (1 << 32), 7, 0, 9], 11), ([1 + (2 << 32), 7, 8], 3)]
)
def test_the_rows_of_a_print_buffer(words, used):
    wanted = [[which, list(values)] for which, values in prints.rows(words, used)]
    assert list(rows(np.array(words, np.uint64), used)) == wanted


def test_all_zeros_are_no_small_numbers(writer, modules):
    ds.init(default_fp=ds.f32)
    x, y = ds.field(ds.f32, shape=8), ds.field(ds.f32, shape=8)

    @ds.kernel
    def small():
        for i in y:
            y[i] = 1e-9 * x[i]

    x.fill(1.0)
    observer = Sequence(writer, "small")
    with recorded(writer, observer):
        small()
    observer.finish()
    (buffer,) = (b for b in observer.run.buffers if b.before is None)
    buffer.after = writer.array(np.zeros(8, np.float32))
    ((_, wrong),) = replayed(writer, modules)
    assert len(wrong) == 1


@pytest.mark.slow
def test_faults(writer, modules):
    record_reports(writer)
    writer.runs[:] = [run for run in writer.runs if run.launches[0].prints is None]
    found = replayed(writer, modules)
    assert len(found) == 3
    assert [wrong for _, wrong in found if wrong] == []


def test_a_fault_that_was_not_recorded_is_found(writer, modules):
    record_reports(writer)
    writer.runs[:] = writer.runs[:1]
    writer.runs[0].launches[0].fault = None
    ((_, wrong),) = replayed(writer, modules)
    assert wrong == ["launch 0: status and fault: [1] for [0]"]
