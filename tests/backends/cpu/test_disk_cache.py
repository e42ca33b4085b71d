"""Machine code on disk: what is loaded, what is refused, and that no program fails because of it."""

import errno
import os
import random
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dsim.backends.cpu import disk_cache, images
from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.disk_cache import CacheChoice, DiskCache

KEY, IMAGE = bytes(range(100, 120)), b"object code"
PROGRAM = """
import sys
import dsim as ds
from dsim.backends.cpu import images

if "warm" in sys.argv:
    images.optimised = None
ds.init(default_fp=ds.f64)
x, y = ds.field(ds.f64, shape=50, needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)

@ds.kernel
def energy():
    for i in x:
        y[None] += ds.sin(x[i]) * x[i] ** 2

x.fill(0.5)
with ds.Tape(y):
    energy()
print(y[None].hex(), x.grad[3].hex())
"""


@pytest.fixture
def cache(tmp_path) -> DiskCache:
    """An empty cache, in a folder that is not there yet."""
    return DiskCache(tmp_path / "code")


@pytest.fixture
def chosen(cache, monkeypatch) -> DiskCache:
    """The cache, in force."""
    disk_cache.choose(CacheChoice(folder=cache.folder))
    return cache


@pytest.fixture
def compilations(monkeypatch) -> list[str]:
    """The texts that were compiled since the test began."""
    found, optimised = [], images.optimised

    def counting(text, speed):
        found.append(text)
        return optimised(text, speed)

    monkeypatch.setattr(images, "optimised", counting)
    return found


def _module(number: int) -> str:
    return f"define i64 @dsim_entry(ptr %frame) {{\n  ret i64 {number}\n}}"


def _run(program: Path, folder: Path | str, *arguments: str, **environment: str) -> str:
    told = {
        **os.environ,
        "DSIM_CACHE_DIR": str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
        **environment,
    }
    done = subprocess.run(
        [sys.executable, program, *arguments], env=told, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


def _names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def _file(cache: DiskCache) -> Path:
    (found,) = cache.folder.iterdir()
    return found


# -- across processes


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    program, folder = tmp_path / "program.py", tmp_path / "code"
    program.write_text(PROGRAM)
    first = _run(program, folder, PYTHONHASHSEED="1")
    files = {f.name: f.stat().st_mtime_ns for f in folder.iterdir()}
    assert files
    assert _run(program, folder, "warm", PYTHONHASHSEED="2") == first
    assert {f.name: f.stat().st_mtime_ns for f in folder.iterdir()} == files


@pytest.mark.slow
def test_programs_do_not_depend_on_the_folder(tmp_path):
    """Switched off, and where no folder can be: a file is in the way, which stops the administrator too."""
    program, file = tmp_path / "program.py", tmp_path / "file"
    program.write_text(PROGRAM)
    file.write_text("here")
    assert _run(program, "") == _run(program, file) == _run(program, file / "below")
    assert _names(tmp_path) == {"program.py", "file"}


WRITER = """
import importlib.util, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("disk_cache", sys.argv[1])
disk_cache = importlib.util.module_from_spec(spec)
sys.modules["disk_cache"] = disk_cache
spec.loader.exec_module(disk_cache)
cache = disk_cache.DiskCache(Path(sys.argv[2]), 40_000)  # small: several processes trim at the same time
for n in range(300):
    key = bytes([n % 20, *bytes(19)])
    found = cache.load(key)
    assert found in (None, key * 100), found
    cache.save(key, key * 100)
assert cache._writes
"""


@pytest.mark.slow
def test_processes_at_the_same_time(tmp_path):
    program, folder = tmp_path / "writer.py", tmp_path / "code"
    program.write_text(WRITER)
    command = [sys.executable, program, disk_cache.__file__, folder]
    running = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait() for process in running] == [0, 0, 0, 0]
    assert all(name.endswith(".o") for name in _names(folder))


# -- what is loaded


def test_code_is_compiled_once_for_all_processes(chosen, compilations):
    first, second, other = (
        MachineCode(_module(7), {}),
        MachineCode(_module(7), {}),
        MachineCode(_module(8), {}),
    )
    assert first.entry != second.entry
    assert compilations == [_module(7), _module(8)]
    assert other.entry not in (first.entry, second.entry)
    assert "ret i64 7" in second.llvm


def test_the_key_holds_all_that_code_follows_from(chosen, compilations, monkeypatch):
    text = _module(21)
    MachineCode(text, {})
    MachineCode(text, {}, images.QUICK)
    assert len(compilations) == 2
    with monkeypatch.context() as patch:
        patch.setattr(images, "_described", lambda level: "another processor")
        MachineCode(text, {})
    assert len(compilations) == 3
    with monkeypatch.context() as patch:
        patch.setattr(images, "_versions", lambda: "of tomorrow")
        MachineCode(text, {})
    assert len(compilations) == 4
    MachineCode(text, {})
    assert len(compilations) == 4


@pytest.mark.parametrize("module", ["numba", "llvmlite"])
def test_other_versions_of_the_compiler_compile_anew(module, monkeypatch):
    before = images._versions()
    monkeypatch.setattr(getattr(images, module), "__version__", "99.0")
    assert images._versions.__wrapped__() != before
    monkeypatch.undo()
    monkeypatch.setattr(images, "__version__", "99.0")
    assert images._versions.__wrapped__() != before
    monkeypatch.undo()
    assert images._versions.__wrapped__() == before


def test_the_processor_is_in_the_key(monkeypatch):
    options = images.target_options(images.SPEED)
    assert {"cpu", "features", "opt"} <= options.keys()
    found = {images._described(images.SPEED), images._target(images.SPEED).described}
    assert len(found) == 1
    for name in options:
        monkeypatch.setattr(images, "target_options", lambda level, name=name: {**options, name: "other"})
        found.add(images._in_words.__wrapped__(images.SPEED, images._config.USING_SVML))
    assert len(found) == len(options) + 1


# -- what is refused


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:30],
        lambda content: b"",
        lambda content: content + b" ",
        lambda content: content[:60] + bytes([content[60] ^ 1]) + content[61:],
        lambda content: b"another head" + content,
    ],
)
def test_a_damaged_file_is_replaced(damage, chosen, compilations):
    text = _module(40)
    MachineCode(text, {})
    file = _file(chosen)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    MachineCode(text, {})
    assert len(compilations) == 2
    assert file.read_bytes() == whole


def test_a_file_under_another_name_is_damaged(cache):
    cache.save(KEY, IMAGE)
    assert cache.load(KEY) == IMAGE
    _file(cache).rename(cache.folder / f"{KEY[::-1].hex()}.o")
    assert cache.load(KEY[::-1]) is None


def test_what_llvm_cannot_link_is_replaced(chosen, compilations):
    text = _module(41)
    key = images._key(text, images.SPEED)
    chosen.save(key, b"no object file")
    assert MachineCode(text, {}).entry
    assert len(compilations) == 1
    assert chosen.load(key) != b"no object file"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_files_that_others_may_write_are_replaced(mode, cache):
    cache.save(KEY, IMAGE)
    _file(cache).chmod(mode)
    assert cache.load(KEY) is None
    cache.save(KEY, IMAGE)
    assert cache.load(KEY) == IMAGE
    assert stat.S_IMODE(_file(cache).stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_is_not_used(mode, cache):
    cache.save(KEY, IMAGE)
    cache.folder.chmod(mode)
    assert cache.load(KEY) is None
    assert cache.status().fault == "other users may write to the folder"
    cache.save(KEY[::-1], IMAGE)
    assert len(_names(cache.folder)) == 1


def test_files_of_other_users_are_not_used(cache, monkeypatch):
    cache.save(KEY, IMAGE)
    nobody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: nobody)
    assert cache.load(KEY) is None
    assert cache.status().fault == "the folder belongs to another user"
    verify = disk_cache._verify
    monkeypatch.setattr(
        disk_cache, "_verify", lambda found, what: what == "the folder" or verify(found, what)
    )
    assert cache.load(KEY) is None


def test_links_and_pipes_are_not_followed(cache):
    cache.save(KEY, IMAGE)
    file = _file(cache)
    away = file.with_name("away")
    file.rename(away)
    file.symlink_to(away)
    assert cache.load(KEY) is None
    file.unlink()
    os.mkfifo(file, 0o600)
    assert cache.load(KEY) is None
    file.unlink()
    away.rename(file)
    assert cache.load(KEY) == IMAGE


def test_the_folder_is_private(cache):
    cache.save(KEY, IMAGE)
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(_file(cache).stat().st_mode) == 0o600


# -- its size


def test_what_was_not_used_for_longest_goes_first(tmp_path):
    cache = DiskCache(tmp_path / "code", 100_000)
    keys = [bytes([255, n, *bytes(18)]) for n in range(120)]
    for n, key in enumerate(keys):
        cache.save(key, bytes(1000))
        os.utime(cache.folder / f"{key.hex()}.o", (n * 1000, n * 1000))
    assert cache.load(keys[0]) == bytes(1000)  # used, hence the youngest
    abandoned = cache.folder / "half.part"
    abandoned.write_bytes(b"half")
    os.utime(abandoned, (1, 1))
    cache.save(bytes(20), bytes(1000))  # such a key looks at the size
    assert [key for key in keys if cache.load(key) is not None] == [keys[0], *keys[51:]]
    assert not abandoned.exists()
    assert cache.status().size <= 75_000


@pytest.mark.parametrize("size", [7_000, 100_000, 800_000])
def test_the_size_is_looked_at_64_times_while_the_folder_fills(monkeypatch, tmp_path, size):
    looks = []
    monkeypatch.setattr(disk_cache, "_write", lambda *args: None)
    monkeypatch.setattr(disk_cache, "_trim", lambda *args: looks.append(args))
    cache, hashes = DiskCache(tmp_path / "code", 64_000_000), random.Random(0)
    for _ in range(cache.limit // size):
        cache.save(hashes.randbytes(20), bytes(size))
    assert 40 < len(looks) < 90


def test_one_large_module_does_not_displace_the_others(tmp_path):
    cache = DiskCache(tmp_path / "code", 10_000)
    cache.save(KEY, bytes(5000))
    assert cache.load(KEY) is None


def test_use_is_noted_once_an_hour(cache):
    cache.save(KEY, IMAGE)
    recent = time.time() - 60
    os.utime(_file(cache), (recent, recent))
    cache.load(KEY)
    assert _file(cache).stat().st_mtime == pytest.approx(recent)


def test_clear(cache):
    assert cache.clear() == 0
    cache.save(KEY, IMAGE)
    (cache.folder / "notes.txt").write_text("not of the cache")
    assert cache.clear() > len(IMAGE)
    assert _names(cache.folder) == {"notes.txt"}


# -- where it cannot work


def test_a_full_disk_is_asked_once(cache, monkeypatch):
    asked = []

    def full(*args, **kwargs):
        asked.append(args)
        raise OSError(errno.ENOSPC, "No space left on device")

    cache.save(KEY, IMAGE)
    monkeypatch.setattr(os, "replace", full)
    cache.save(KEY[::-1], IMAGE)
    cache.save(bytes(20), IMAGE)
    assert len(asked) == 1
    assert len(_names(cache.folder)) == 1
    assert cache.load(KEY) == IMAGE
    assert cache.status().fault == "No space left on device"


def test_the_users_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("DSIM_CACHE_DIR", str(tmp_path))
    assert disk_cache.default_folder() == tmp_path
    monkeypatch.setenv("DSIM_CACHE_DIR", "")
    assert disk_cache.default_folder() is None
    monkeypatch.delenv("DSIM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert disk_cache.default_folder() == tmp_path / "dsim"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert disk_cache.default_folder() == tmp_path / "home" / ".cache" / "dsim"

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert disk_cache.default_folder() is None


def test_without_a_folder_nothing_is_kept():
    cache = DiskCache(None)
    cache.save(KEY, IMAGE)
    assert cache.load(KEY) is None
    assert cache.clear() == 0
    assert cache.status() == (None, 0, 0, disk_cache.LIMIT, "")
