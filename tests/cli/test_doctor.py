"""`dsim doctor`: its findings, and its output when something is missing."""

import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path

import pytest
from numba.np.ufunc.parallel import NUM_THREADS

from dsim import cli
from dsim._version import __version__
from dsim.backends.cuda import toolchain
from dsim.backends.cuda.toolchain import Device, Driver, Tool
from dsim.tooling import doctor, extras
from dsim.tooling.errors import ToolError


@pytest.fixture
def jupyter(tmp_path, monkeypatch):
    """A folder that JupyterLab searches first, for extensions and for configuration."""
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path))
    return tmp_path


def install(folder, version):
    """Put an extension of some version where JupyterLab looks."""
    place = folder / "labextensions" / "dsim-lab"
    place.mkdir(parents=True)
    (place / "package.json").write_text(
        json.dumps({"name": "dsim-lab", "version": version, "jupyterlab": {}})
    )


def without(monkeypatch, *names):
    """Play a Python that lacks some modules."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in names else found(name))


def test_this_machine(capsys):
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"dsim {__version__} in {sys.prefix}\n")
    for subject in (
        *doctor.REQUIRED,
        "Python",
        "threads",
        "vector math",
        "code cache",
        "libdevice",
        "ptxas",
        "CUDA driver",
        "Lab extension",
    ):
        assert f"  {subject} " in out
    assert out.endswith("\ndsim is ready\n")


def test_the_extension_was_built_into_this_installation():
    (finding,) = doctor.check_lab_extension()
    assert finding.level == "ok"
    assert finding.detail == f"dsim-lab {doctor.npm_version(__version__)}, enabled"


def test_a_problem_sets_the_exit_status(monkeypatch, capsys):
    found = importlib.metadata.version

    def version(name):
        if name == "scipy":
            raise importlib.metadata.PackageNotFoundError(name)
        return found(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert cli.main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert 'problem  scipy          not installed\n                          pip install "dsim"\n' in out
    assert out.endswith("\n1 to fix, see above\n")


def test_extension_of_another_version(jupyter):
    install(jupyter, "0.0.1")
    (finding,) = doctor.check_lab_extension()
    assert finding.level == "problem"
    assert "does not belong to dsim" in finding.detail


def test_extension_switched_off(jupyter):
    (jupyter / "labconfig").mkdir()
    off = {"disabledExtensions": {"dsim-lab": True}}
    (jupyter / "labconfig" / "page_config.json").write_text(json.dumps(off))
    (finding,) = doctor.check_lab_extension()
    assert finding.level == "problem"
    assert finding.help == "jupyter labextension enable dsim-lab"


def test_extension_absent(monkeypatch):
    monkeypatch.setattr("jupyter_core.paths.jupyter_path", lambda _: [])
    (finding,) = doctor.check_lab_extension()
    assert finding.detail == "dsim-lab is not installed"


def test_extension_without_jupyter(monkeypatch):
    without(monkeypatch, "jupyter_core")
    (finding,) = doctor.check_lab_extension()
    assert (finding.level, finding.help) == ("note", 'pip install "dsim[lab]"')


def test_extension_without_jupyterlab_is_not_off(monkeypatch):
    without(monkeypatch, "jupyterlab")
    assert doctor.is_disabled([]) is False


def test_vector_math_absent():
    (finding,) = doctor.check_vector_math("libabsent.so")
    assert (finding.level, finding.subject) == ("note", "vector math")


def test_threads():
    (finding,) = doctor.check_threads()
    assert finding.level == "ok"
    assert finding.detail.startswith(f"{NUM_THREADS} on ")


def test_threads_that_do_not_start(monkeypatch):
    monkeypatch.setattr("dsim.backends.cpu.runtime.Runtime.threads", 1)
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 3)
    (finding,) = doctor.check_threads()
    assert finding.level == "problem"
    assert "no more of 3" in finding.detail
    assert "ulimit" in finding.help


def test_threads_without_numba(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    (finding,) = doctor.check_threads()
    assert (finding.level, finding.help) == ("problem", "pip install numba")


@pytest.fixture
def cuda(monkeypatch):
    """Plays a machine with these parts of CUDA, and no others."""

    def play(libdevice=None, ptxas=None, driver=None):
        monkeypatch.setattr(toolchain, "libdevice", lambda: libdevice)
        monkeypatch.setattr(toolchain, "ptxas", lambda: ptxas)
        monkeypatch.setattr(toolchain, "driver", lambda: driver)
        return {finding.subject: finding for finding in doctor.check_cuda()}

    return play


def test_nothing_of_cuda(cuda):
    found = cuda()
    assert [(f.level, f.help) for f in found.values()] == [
        ("note", 'pip install "dsim[cuda]", or set CUDA_HOME to an installed CUDA'),
        ("note", "pip install nvidia-cuda-nvcc"),
        ("note", "dsim writes PTX, and does not launch it yet: kernels run on the CPU"),
    ]
    assert list(found) == ["libdevice", "ptxas", "CUDA driver"]


def test_tools_of_cuda(cuda):
    found = cuda(Path("/cuda/libdevice.10.bc"), Tool(Path("/cuda/bin/ptxas"), (13, 0)))
    assert (found["libdevice"].level, found["libdevice"].detail) == ("ok", "/cuda/libdevice.10.bc")
    assert (found["ptxas"].level, found["ptxas"].detail) == ("ok", "13.0 at /cuda/bin/ptxas")


def test_an_old_ptxas(cuda):
    found = cuda(ptxas=Tool(Path("/usr/bin/ptxas"), (11, 8)))["ptxas"]
    assert (found.level, found.detail) == ("note", "11.8 at /usr/bin/ptxas is older than 12.8")


def test_a_device_is_not_used_yet(cuda):
    found = cuda(driver=Driver((13, 2), (Device("Fast One", (9, 0)),)))["CUDA driver"]
    assert (found.level, found.detail) == ("ok", "CUDA 13.2, Fast One, compute capability 9.0")
    assert "does not launch it yet" in found.help


def test_a_driver_without_a_device(cuda):
    found = cuda(driver=Driver((13, 2), (), "CUDA_ERROR_NO_DEVICE"))["CUDA driver"]
    assert (found.level, found.detail) == ("note", "CUDA 13.2, no device: CUDA_ERROR_NO_DEVICE")


def test_require_names_the_extra():
    with pytest.raises(ToolError, match="absent_package is needed to test, and it is not installed") as error:
        extras.require("absent_package.part", extra="lab", purpose="to test")
    assert error.value.help == 'pip install "dsim[lab]"'


def test_require_does_not_hide_a_broken_package(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import absent_package")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="absent_package"):
        extras.require("broken_package", extra="lab", purpose="to test")
