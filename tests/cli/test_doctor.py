"""`dsim doctor`: its findings, and its output when something is missing."""

import importlib.metadata
import importlib.util
import json
import sys
import types

import pytest

from dsim import cli
from dsim._version import __version__
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
        "CUDA",
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


def test_threads_that_do_not_start(monkeypatch):
    def refuse():
        raise ValueError("No threading layer could be loaded.")

    monkeypatch.setattr("numba.np.ufunc.parallel._launch_threads", refuse)
    (finding,) = doctor.check_threads()
    assert finding.level == "problem"
    assert "No threading layer" in finding.detail


def test_cuda_not_installed(monkeypatch):
    without(monkeypatch, "numba_cuda")
    (finding,) = doctor.check_cuda()
    assert (finding.level, finding.detail) == ("note", "numba-cuda is not installed")


@pytest.fixture
def cuda(monkeypatch):
    """A numba-cuda that says what a test tells it to say."""
    fake = types.ModuleType("numba.cuda")
    fake.is_available = lambda: False
    fake.cuda_error = lambda: None
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    monkeypatch.setitem(sys.modules, "numba.cuda", fake)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    return fake


@pytest.mark.parametrize(
    ("error", "reason"), [(None, "no device, or no driver for one"), ("driver too old", "driver too old")]
)
def test_cuda_not_available(cuda, error, reason):
    cuda.cuda_error = lambda: error
    (finding,) = doctor.check_cuda()
    assert (finding.level, finding.detail) == ("note", f"not available: {reason}")


def test_cuda_device(cuda):
    device = types.SimpleNamespace(name=b"Fast One", compute_capability=(9, 0))
    cuda.is_available = lambda: True
    cuda.gpus = types.SimpleNamespace(lst=[device])
    (finding,) = doctor.check_cuda()
    assert (finding.level, finding.detail) == ("ok", "Fast One, compute capability 9.0")


def test_cuda_simulated(cuda, monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    (finding,) = doctor.check_cuda()
    assert finding.detail == "simulated on the CPU"


def test_require_names_the_extra():
    with pytest.raises(ToolError, match="absent_package is needed to test, and it is not installed") as error:
        extras.require("absent_package.part", extra="lab", purpose="to test")
    assert error.value.help == 'pip install "dsim[lab]"'


def test_require_does_not_hide_a_broken_package(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import absent_package")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="absent_package"):
        extras.require("broken_package", extra="lab", purpose="to test")
