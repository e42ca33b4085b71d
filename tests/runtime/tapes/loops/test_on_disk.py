"""Loops with checkpoints in files: what happens when the folder does not do."""

import gc
import shutil

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import same, state
from tests.runtime.walking import Walk, taped


@pytest.fixture(autouse=True)
def deterministic():
    ti.init(default_fp=ti.f64, deterministic=True)


@pytest.fixture
def walk():
    made = Walk()
    made.start()
    return made


def steps(walk, folder, then=lambda t: None):
    def run(tape):
        for t in tape.steps(range(10), slots=3, directory=folder):
            walk.ahead(0.1 * t)
            then(t)
        walk.between()
        then(10)

    return run


@pytest.mark.parametrize("name", ["absent", "a file"])
def test_a_folder_that_is_none(walk, tmp_path, name):
    (tmp_path / "a file").write_text("")
    with pytest.raises(ti.GradientError) as error:
        taped(walk.loss, steps(walk, tmp_path / name))
    message = str(error.value)
    assert f"the folder `{tmp_path / name}` cannot keep the states: " in message
    assert "directory=folder" in message
    assert "help: pass as `directory` one that exists, may be written to, and has room for them" in message


def test_what_is_no_path(walk):
    with pytest.raises(ti.GradientError, match="`directory` is the path of a folder, not int"):
        taped(walk.loss, steps(walk, 7))


@pytest.mark.parametrize("when", [4, 10])
def test_a_folder_that_is_deleted_meanwhile(walk, tmp_path, when):
    def delete(t):
        if t == when:
            shutil.rmtree(tmp_path)

    with pytest.raises(ti.GradientError, match="cannot keep the states: No such file"):
        taped(walk.loss, steps(walk, tmp_path, delete))
    assert not walk.x.grad.to_numpy().any()
    assert not walk.k.grad.to_numpy().any()
    if when == 10:
        found = walk.x.to_numpy(), walk.k.to_numpy()
        walk.start()
        for t in range(10):
            walk.ahead(0.1 * t)
        walk.between()
        assert same(found, (walk.x.to_numpy(), walk.k.to_numpy()))  # as at the end of the block


@pytest.mark.slow
def test_a_disk_that_is_full(walk, tmp_path, monkeypatch):
    saved, written = np.save, []

    def until_full(path, values):
        if len(written) == 5:
            raise OSError(28, "No space left on device")
        written.append(path)
        saved(path, values)

    monkeypatch.setattr(np, "save", until_full)
    with pytest.raises(ti.GradientError, match="cannot keep the states: No space left on device"):
        taped(walk.loss, steps(walk, tmp_path))
    gc.collect()
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    walk.start()
    taped(walk.loss, steps(walk, tmp_path))
    found = state(walk.x, walk.k)
    walk.plain()  # another program, so that nothing is left of the gradients
    walk.start()

    def plain(tape):
        for t in range(10):
            walk.ahead(0.1 * t)
        walk.between()

    taped(walk.loss, plain)
    assert same(found, state(walk.x, walk.k))


@pytest.mark.parametrize("damaged", [lambda of: of[:20], lambda of: b"", lambda of: b"other " + of])
def test_a_file_that_is_damaged(walk, tmp_path, damaged):
    def cut(t):
        if t == 10:
            for path in tmp_path.glob("*/*.npy"):
                path.write_bytes(damaged(path.read_bytes()))

    with pytest.raises(ti.GradientError, match="cannot keep the states: a file there has changed"):
        taped(walk.loss, steps(walk, tmp_path, cut))
    assert not walk.x.grad.to_numpy().any()


def test_a_file_that_another_program_changes(walk, tmp_path):
    def change(t):
        if t == 10:
            for path in tmp_path.glob("*/*.npy"):
                values = np.load(path)
                values.reshape(-1)[0] += 1.0
                np.save(path, values)

    with pytest.raises(ti.GradientError, match="cannot keep the states: a file there has changed"):
        taped(walk.loss, steps(walk, tmp_path, change))
    assert not walk.x.grad.to_numpy().any()
