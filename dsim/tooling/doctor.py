"""Checks the installation and the machine: `dsim doctor`.

Each check is a function that returns findings. A finding is `ok`; a `note`, when something optional is
absent; or a `problem`, which stops dsim or its notebooks from working.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dsim._version import __version__
from dsim.backends.cpu.disk_cache import VARIABLE, CacheStatus, disk_cache
from dsim.backends.cuda import toolchain

REQUIRED = ("numba", "llvmlite", "numpy", "scipy", "ipywidgets", "anywidget", "matplotlib")
FOR_LAB = ("jupyterlab", "notebook", "ipykernel", "nbclient", "nbconvert", "tqdm")
OPTIONAL = {"torch": "torch", "dask": "dask", "imageio-ffmpeg": "video"}
EXTENSION = "dsim-lab"
REBUILD = "in a checkout of dsim: make clean setup, or pip install --force-reinstall --no-deps ."


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check.

    Attributes
    ----------
    level : {"ok", "note", "problem"}
        The status.
    subject : str
        The thing checked.
    detail : str
        The result.
    help : str
        The next step, if any.
    """

    level: Literal["ok", "note", "problem"]
    subject: str
    detail: str
    help: str = ""


def check_python() -> Iterable[Finding]:
    """The version and the path of Python."""
    where = f"{platform.python_implementation()} {platform.python_version()}"
    yield Finding("ok", "Python", f"{where}, {platform.system()} {platform.machine()}")


def check_packages() -> Iterable[Finding]:
    """The packages that dsim requires, and those of its extras."""
    for name in REQUIRED:
        yield found_package(name, "problem", 'pip install "dsim"')
    for name in FOR_LAB:
        yield found_package(name, "note", 'pip install "dsim[lab]"')
    for name, extra in OPTIONAL.items():
        yield found_package(name, "note", f'pip install "dsim[{extra}]"')


def found_package(name: str, absent: Literal["note", "problem"], install: str) -> Finding:
    """The version of a package, or the command that installs it."""
    try:
        return Finding("ok", name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(absent, name, "not installed", install)


def check_threads() -> Iterable[Finding]:
    """The number of threads of kernels: as many as Numba would have."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        wanted = importlib.import_module("numba").config.NUMBA_NUM_THREADS
        runtime = importlib.import_module("dsim.backends.cpu.runtime").runtime()
        runtime.start_threads()
        started = runtime.threads
    except ImportError as error:
        yield Finding("problem", "threads", f"none can be started: {error}", "pip install numba")
        return
    found = f"{started} on {cores} cores"
    if started < wanted:
        text = f"{found}: the system gives no more of {wanted}"
        yield Finding("problem", "threads", text, "raise the limit of processes: ulimit -u")
    else:
        yield Finding("ok", "threads", found)


def check_vector_math(library: str = "libmvec.so.1") -> Iterable[Finding]:
    """Whether a library of vectorized sin, exp and others is available."""
    try:
        ctypes.CDLL(library)
    except OSError:
        yield Finding("note", "vector math", f"no {library}: sin, exp and others run one number at a time")
    else:
        yield Finding("ok", "vector math", f"{library} (glibc)")


def check_code_cache() -> Iterable[Finding]:
    """Whether machine code is kept on disk, and how much of it."""
    found = disk_cache().status()
    if found.folder is None:
        yield Finding("note", "code cache", f"off: {VARIABLE} is empty", f"unset {VARIABLE}")
    elif found.fault:
        detail = f"{found.folder} is of no use: {found.fault}"
        yield Finding("note", "code cache", detail, f"{VARIABLE} names another folder, or is empty for none")
    else:
        yield Finding("ok", "code cache", shown_cache(found))


def shown_cache(found: CacheStatus) -> str:
    """How much a cache holds, in words.

    Examples
    --------
    >>> shown_cache(CacheStatus(Path("/home/ada/.cache/dsim"), 12, 300_000, 512 << 20, ""))
    '/home/ada/.cache/dsim: 12 modules, 0.3 of 512 MiB'
    """
    size, limit = found.size / 2**20, found.limit / 2**20
    return f"{found.folder}: {found.files} module{'s' * (found.files != 1)}, {size:.1f} of {limit:.0f} MiB"


def check_cuda() -> Iterable[Finding]:
    """What there is of CUDA: what PTX needs, what assembles it, and what drives a device."""
    library = toolchain.libdevice()
    if library is None:
        absent = "not installed: no PTX of kernels that call sin, exp and others"
        yield Finding("note", "libdevice", absent, toolchain.LIBDEVICE_HELP)
    else:
        yield Finding("ok", "libdevice", str(library))
    yield _assembler(toolchain.ptxas())
    yield from _devices(toolchain.driver())


def _assembler(found: toolchain.Tool | None) -> Finding:
    if found is None:
        return Finding("note", "ptxas", "not installed: PTX is not assembled", toolchain.PTXAS_HELP)
    version = ".".join(map(str, found.version))
    if found.version < toolchain.OLDEST_PTXAS:
        oldest = ".".join(map(str, toolchain.OLDEST_PTXAS))
        detail = f"{version} at {found.path} is older than {oldest}"
        return Finding("note", "ptxas", detail, toolchain.PTXAS_HELP)
    return Finding("ok", "ptxas", f"{version} at {found.path}")


def _devices(found: toolchain.Driver | None) -> Iterable[Finding]:
    later = "dsim writes PTX, and does not launch it yet: kernels run on the CPU"
    if found is None:
        yield Finding("note", "CUDA driver", "none", later)
        return
    version = ".".join(map(str, found.version))
    if not found.devices:
        detail = f"CUDA {version}, no device: {found.error}"
        yield Finding("note", "CUDA driver", detail, "`nvidia-smi` shows what the driver sees")
        return
    for device in found.devices:
        major, minor = device.capability
        yield Finding(
            "ok", "CUDA driver", f"CUDA {version}, {device.name}, compute capability {major}.{minor}", later
        )


def check_lab_extension() -> Iterable[Finding]:
    """Whether JupyterLab finds dsim's extension in this version and loads it."""
    if importlib.util.find_spec("jupyter_core") is None:
        yield Finding("note", "Lab extension", "no JupyterLab here", 'pip install "dsim[lab]"')
        return
    folders = importlib.import_module("jupyter_core.paths").jupyter_path("labextensions")
    package = next((p for f in folders if (p := Path(f) / EXTENSION / "package.json").is_file()), None)
    if package is None:
        yield Finding("problem", "Lab extension", f"{EXTENSION} is not installed", REBUILD)
        return
    version = json.loads(package.read_text(encoding="utf-8"))["version"]
    if version != npm_version(__version__):
        detail = f"{EXTENSION} {version} at {package.parent} does not belong to dsim {__version__}"
        yield Finding("problem", "Lab extension", detail, REBUILD)
    elif is_disabled(folders):
        yield Finding(
            "problem",
            "Lab extension",
            f"{EXTENSION} {version} is disabled",
            f"jupyter labextension enable {EXTENSION}",
        )
    else:
        yield Finding("ok", "Lab extension", f"{EXTENSION} {version}, enabled")


def npm_version(version: str) -> str:
    """A Python version in npm's spelling.

    Examples
    --------
    >>> npm_version("0.1.0.dev0"), npm_version("1.2.0")
    ('0.1.0-dev0', '1.2.0')
    """
    return version.replace(".dev", "-dev")


def is_disabled(labextension_folders: list[str]) -> bool:
    """Whether a user or an administrator has disabled the extension."""
    if importlib.util.find_spec("jupyterlab") is None:
        return False
    settings = Path(importlib.import_module("jupyterlab.commands").get_app_dir()) / "settings"
    page_config = importlib.import_module("jupyterlab_server.config").get_page_config
    disabled: list[str] = page_config(labextension_folders, str(settings))["disabledExtensions"]
    return any(name.partition(":")[0] == EXTENSION for name in disabled)


CHECKS: tuple[Callable[[], Iterable[Finding]], ...] = (
    check_python,
    check_packages,
    check_threads,
    check_vector_math,
    check_code_cache,
    check_cuda,
    check_lab_extension,
)


def examine() -> list[Finding]:
    """Run all checks.

    Returns
    -------
    list of Finding
        Their results, in the order of display.
    """
    return [finding for check in CHECKS for finding in check()]


def show(findings: Iterable[Finding]) -> str:
    """Findings as a table, each with its next step, if any, below it.

    Examples
    --------
    >>> found = Finding("ok", "numpy", "2.4.6"), Finding("note", "torch", "absent", "pip install torch")
    >>> print(show(found))
      ok       numpy          2.4.6
      note     torch          absent
                              pip install torch
    """
    lines: list[str] = []
    for finding in findings:
        lines.append(f"  {finding.level:<7}  {finding.subject:<13}  {finding.detail}")
        if finding.help:
            lines.append(f"{'':26}{finding.help}")
    return "\n".join(lines)


def doctor() -> int:
    """Print the findings of all checks.

    Returns
    -------
    int
        0, or 1 when there is a problem: the command's exit status.
    """
    findings = examine()
    problems = sum(finding.level == "problem" for finding in findings)
    print(f"dsim {__version__} in {sys.prefix}\n\n{show(findings)}\n")
    print(f"{problems} to fix, see above" if problems else "dsim is ready")
    return 1 if problems else 0
