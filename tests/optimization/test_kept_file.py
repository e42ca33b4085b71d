"""The file from which an optimisation goes on."""

import json
import os

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import GradientError
from dsim.optimization import optimization
from tests.optimization.programs import quadratic, rosenbrock


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@pytest.mark.parametrize("method", ["Adam", "momentum", "descent"])
def test_it_goes_on_in_another_process_as_if_nothing_had_been(method, tmp_path):
    path = tmp_path / "best.npz"
    x, y, run = rosenbrock()
    rate = {"rate": 1e-3}
    whole = ds.optimize(run, x, y, method=method, steps=12, progress=False, **rate)
    x.fill(0.0)
    ds.optimize(run, x, y, method=method, steps=7, progress=False, path=path, **rate)
    ds.init(default_fp=ds.f64)  # other fields of the same names
    x, y, run = rosenbrock()
    found = ds.optimize(run, x, y, method=method, steps=12, progress=False, path=path, **rate)
    np.testing.assert_array_equal(found.history["loss"], whole.history["loss"])
    np.testing.assert_array_equal(x.to_numpy(), whole.best.parameters)
    assert list(tmp_path.iterdir()) == [path]


def test_scipy_s_methods_go_on_at_the_same_loss(tmp_path):
    path = tmp_path / "best.npz"
    x, y, run = rosenbrock()
    first = ds.optimize(run, x, y, steps=5, progress=False, path=path)
    x.fill(0.0)
    second = ds.optimize(run, x, y, progress=False, path=path)
    np.testing.assert_array_equal(second.history[:6], first.history)
    assert second.history["loss"][6] < first.history["loss"][5]
    third = ds.optimize(run, x, y, steps=second.done, progress=False, path=path)
    assert (third.status, third.done) == ("finished", second.done)


def test_no_pickled_objects_are_in_it(tmp_path):
    x, y, run = quadratic()
    ds.optimize(run, x, y, method="Adam", steps=2, progress=False, path=tmp_path / "best.npz")
    with np.load(tmp_path / "best.npz", allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} <= set("fiUV")
        assert json.loads(str(file["description"]))["method"] == "Adam"
        assert file["history"]["step"].tolist() == [0, 1, 2]


def saved(tmp_path):
    x, y, run = quadratic()
    path = tmp_path / "best.npz"
    ds.optimize(run, x, y, method="Adam", steps=2, progress=False, path=path)
    x.fill(1.0)
    return x, y, run, path


def test_another_method(tmp_path):
    x, y, run, path = saved(tmp_path)
    with pytest.raises(GradientError, match=r"does not fit.*: its method is Adam, and here it is momentum\n"):
        ds.optimize(run, x, y, method="momentum", path=path)


def test_another_field(tmp_path):
    *_, path = saved(tmp_path)
    x, y, run = quadratic(4)
    with pytest.raises(GradientError, match="its fields is x 3 float64, and here it is x 4 float64"):
        ds.optimize(run, x, y, method="Adam", path=path)


def unnamed():
    """A field learns its name from the kernel that uses it, when that is first launched."""
    x, y = ds.field(ds.f64, shape=2), ds.field(ds.f64, shape=())

    @ds.kernel
    def run():
        y[None] = (x[0] - 1.0) ** 2 + x[1] ** 2

    return x, y, run


def test_a_field_that_had_no_name_yet(tmp_path):
    for steps in (3, 6):
        x, y, run = unnamed()
        found = ds.optimize(run, x, y, method="Adam", steps=steps, path=tmp_path / "a.npz", progress=False)
        assert found.done == steps
    assert x.name == "x"
    found = ds.optimize(run, x, y, method="Adam", steps=9, path=tmp_path / "a.npz", progress=False)
    assert len(found.history) == 10
    x, y, run = unnamed()  # again without a name, and the file has one
    found = ds.optimize(run, x, y, method="Adam", steps=12, path=tmp_path / "a.npz", progress=False)
    assert len(found.history) == 13
    x = ds.field(ds.f64, shape=3)
    with pytest.raises(GradientError, match="its fields is a field 2 float64, and here it is a field 3"):
        ds.optimize(run, x, y, method="Adam", path=tmp_path / "a.npz")


def test_other_free_numbers(tmp_path):
    x, y, run, path = saved(tmp_path)
    with pytest.raises(GradientError, match="other numbers were free"):
        ds.optimize(run, x, y, method="Adam", path=path, free=np.array([True, True, False]))


def test_another_loss(tmp_path):
    x, y, run, path = saved(tmp_path)
    with pytest.raises(GradientError, match=r"the loss at its parameters was 2.8.*, and here it is 5"):
        ds.optimize(lambda: [run(), run()], x, y, method="Adam", path=path, progress=False)


def test_other_bounds(tmp_path):
    x, y, run, path = saved(tmp_path)
    with pytest.raises(GradientError, match="its parameters are outside `bounds=`"):
        ds.optimize(run, x, y, method="Adam", path=path, bounds=(0.995, 2), progress=False)


@pytest.mark.parametrize("content", [b"", b"nothing", b"PK\x03\x04 broken", None])
def test_a_damaged_file(tmp_path, content):
    x, y, run, path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:500] if content is None else content)
    with pytest.raises(GradientError, match=r"it is damaged, or no file of `ds\.optimize`"):
        ds.optimize(run, x, y, method="Adam", path=path)


def test_pickled_objects_are_not_loaded(tmp_path):
    class Loud:
        def __reduce__(self):
            return (pytest.fail, ("was loaded",))

    x, y, run, path = saved(tmp_path)
    with path.open("wb") as file:
        np.savez(file, description=np.array([Loud()], dtype=object))
    with pytest.raises(GradientError, match="it is damaged, or no file"):
        ds.optimize(run, x, y, method="Adam", path=path)


@pytest.mark.parametrize("name", ["state_mean", "history", "best_x", "now_gradient"])
def test_a_part_of_another_shape(tmp_path, name):
    x, y, run, path = saved(tmp_path)
    with np.load(path) as file:
        arrays = {n: file[n] for n in file.files}
    for changed in ({**arrays, name: np.zeros(7)}, {n: a for n, a in arrays.items() if n != name}):
        np.savez(path, **changed)
        with pytest.raises(GradientError, match="does not fit this optimisation: it is damaged"):
            ds.optimize(run, x, y, method="Adam", path=path)


def test_a_file_that_cannot_be_replaced_stays_whole(tmp_path, monkeypatch):
    x, y, run, path = saved(tmp_path)
    before = path.read_bytes()

    def full(*args, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    message = "`.*best.npz` could not be written: No space left"
    with pytest.warns(ds.DsimWarning, match=message), pytest.raises(GradientError, match=message):
        ds.optimize(run, x, y, method="Adam", path=path, steps=50, progress=False)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    losses = np.load(path)["history"]["loss"]
    assert ds.value_and_grad(run, wrt=x, out=y)()[0] < losses.min()  # the fields hold the best parameters


def test_a_disk_that_is_full_for_a_while(tmp_path, monkeypatch):
    """It goes on, says so once, and the file is whole at the end."""
    x, y, run, path = saved(tmp_path)
    whole, failed = np.savez, []

    def full_at_first(*args, **named):
        if len(failed) < 3:
            failed.append(True)
            raise OSError(28, "No space left on device")
        whole(*args, **named)

    monkeypatch.setattr(np, "savez", full_at_first)
    monkeypatch.setattr(optimization, "_FILE_EVERY", 0.0)
    path.unlink()
    with pytest.warns(ds.DsimWarning, match="could not be written: No space left") as heard:
        found = ds.optimize(run, x, y, path=path, steps=50, progress=False, gtol=1e-12)
    assert len(failed) == 3
    assert [w.filename for w in heard] == [__file__]  # SciPy's frames stand in between
    np.testing.assert_array_equal(np.load(path)["history"], found.history)


@pytest.mark.parametrize("shut", ["", "best.npz"])
def test_where_must_not_be_written_to(tmp_path, monkeypatch, shut):
    """Root may write everywhere."""
    *problem, path = saved(tmp_path)
    if not shut:
        path.unlink()
    x, y, run = problem
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path / shut)
    with pytest.raises(GradientError, match=r"best\.npz` must not be written to"):
        ds.optimize(run, x, y, method="Adam", path=path)
