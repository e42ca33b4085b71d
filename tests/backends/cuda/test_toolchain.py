"""What is found of CUDA, and where: in the wheels, below CUDA_HOME, on the PATH, where installers put it."""

import ctypes

import pytest

from dsim.backends.cuda import toolchain
from dsim.backends.cuda.toolchain import Device, Driver, Tool

SITES = toolchain._sites
PTXAS = "#!/bin/sh\necho 'Cuda compilation tools, release {}, V{}.88'\n"


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """A machine without CUDA; what a test puts there is all that there is."""
    monkeypatch.setattr(toolchain, "_sites", lambda: [str(tmp_path / "site")])
    monkeypatch.setattr(toolchain, "_PLACES", (str(tmp_path / "installed"),))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    for name in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def library(folder):
    """Puts libdevice into a folder of CUDA."""
    path = folder / "nvvm" / "libdevice" / "libdevice.10.bc"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"BC")
    return path


def program(folder, version="13.0", text=PTXAS, name="ptxas"):
    """Puts a program into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text.format(version, version))
    path.chmod(0o755)
    return path


def test_nothing():
    assert toolchain.libdevice() is None
    assert toolchain.ptxas() is None
    assert toolchain.nvdisasm() is None


@pytest.mark.parametrize("place", ["site/nvidia/cu13", "site/nvidia/cuda_nvcc", "installed"])
def test_libdevice_in_wheels_and_where_installers_put_it(machine, place):
    assert library(machine / place) == toolchain.libdevice()


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"])
def test_below_a_folder_that_a_variable_names(machine, monkeypatch, variable):
    monkeypatch.setenv(variable, str(machine / "mine"))
    found = library(machine / "mine"), program(machine / "mine" / "bin")
    assert (toolchain.libdevice(), toolchain.ptxas()) == (found[0], Tool(found[1], (13, 0)))


def test_beside_a_program_on_the_path(machine):
    found = library(machine / "cuda"), program(machine / "cuda" / "bin")
    (machine / "path").mkdir()
    (machine / "path" / "ptxas").symlink_to(found[1])
    assert toolchain.libdevice() == found[0]
    assert toolchain.ptxas() == Tool(found[1], (13, 0))


def test_a_program_on_the_path_that_stands_alone(machine):
    path = program(machine / "path", "12.8", name="nvdisasm")
    assert toolchain.nvdisasm() == Tool(path, (12, 8))


def test_the_newest_wheel_comes_first_and_wheels_before_the_rest(machine, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(machine / "mine"))
    for place in ("mine", "site/nvidia/cu12", "site/nvidia/cu13"):
        library(machine / place)
    assert toolchain.libdevice().relative_to(machine).parts[2] == "cu13"


def test_a_version_that_a_program_does_not_tell(machine):
    path = program(machine / "path", text="#!/bin/sh\nexit 1\n")
    assert toolchain.ptxas() == Tool(path, (0, 0))


def test_a_program_that_does_not_run(machine):
    path = program(machine / "path", text="\x7fELF")
    assert toolchain.ptxas() == Tool(path, (0, 0))


def test_packages_are_looked_for_where_imports_look(machine, monkeypatch):
    monkeypatch.setattr(toolchain, "_sites", SITES)
    monkeypatch.syspath_prepend(machine / "added")
    assert toolchain.libdevice() != (found := library(machine / "added" / "nvidia" / "cu999"))
    assert toolchain.libdevice() == found


# the driver --------------------------------------------------------------------------------------


class Fake:
    """A driver: functions of libcuda's names, which give what a test says."""

    def __init__(self, devices=(), version=13000, init=0):
        self.devices, self.version, self.init = devices, version, init
        self.initialised = False

    def cuInit(self, flags):
        self.initialised = True
        return self.init

    def cuDriverGetVersion(self, number):
        number._obj.value = self.version
        return 0

    def cuDeviceGetCount(self, number):
        number._obj.value = len(self.devices)
        return 0

    def cuDeviceGet(self, handle, ordinal):
        handle._obj.value = ordinal
        return 0

    def cuDeviceGetName(self, name, size, handle):
        name.value = self.devices[handle.value].name.encode()
        return 0

    def cuDeviceGetAttribute(self, number, attribute, handle):
        number._obj.value = self.devices[handle.value].capability[{75: 0, 76: 1}[attribute]]
        return 0

    def cuGetErrorName(self, error, name):
        name._obj.value = b"CUDA_ERROR_NO_DEVICE" if error == 100 else None
        return 0


@pytest.fixture
def played(monkeypatch):
    def play(driver):
        monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
        return driver

    return play


def test_no_driver(monkeypatch):
    def refuse(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert toolchain.driver() is None
    assert not toolchain.has_driver()


def test_devices(played):
    devices = Device("Fast One", (9, 0)), Device("Small One", (7, 5))
    played(Fake(devices, 13020))
    assert toolchain.driver() == Driver((13, 2), devices)


@pytest.mark.parametrize(
    ("fake", "error"),
    [
        (Fake(init=100), "CUDA_ERROR_NO_DEVICE"),
        (Fake(init=999), "error 999"),
        (Fake(), "it drives no device"),
    ],
)
def test_a_driver_without_a_device(played, fake, error):
    played(fake)
    assert toolchain.driver() == Driver((13, 0), (), error)


def test_to_look_for_a_driver_does_not_initialise_it(played):
    fake = played(Fake((Device("Fast One", (9, 0)),)))
    assert toolchain.has_driver()
    assert not fake.initialised
