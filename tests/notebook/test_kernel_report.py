"""`report`: that of `%%kernel` for existing kernels, in scripts and notebooks."""

import contextvars
import json
import linecache
import pickle
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import dsim as ds
from dsim.notebook.report.report import MIME
from tests.notebook.cells import GRAVITY, closed_form
from tests.notebook.report.test_reports import validated
from tests.refused import refused

HERE = "test_kernel_report.py"


@ds.func
def square(a):
    return a * a


class Springs:
    """Numbers `x`, `v`, and a loss, in f64."""

    def __init__(self):
        ds.init(default_fp=ds.f64)
        x = self.x = ds.field(ds.f64, shape=5, needs_grad=True)
        self.v = ds.field(ds.f64, shape=5, name="v", needs_grad=True)
        U = self.U = ds.field(ds.f64, shape=(), needs_grad=True)
        x.from_numpy(np.linspace(1, 2, 5))

        @ds.kernel
        def energy(k: float):
            for i in x:
                a = k * x[i]
                U[None] += square(a)

        @ds.kernel
        def bend():
            for i in x:
                x[i] = x[i] * x[i]
            for i in x:
                U[None] += ds.sqrt(x[i] - 1.0)

        self.energy, self.bend = energy, bend
        self.first = energy.function.__code__.co_firstlineno
        self.n, self.w = ds.field(ds.i32, shape=3), ds.field(ds.f64, shape=3)

    def asked(self, **options):
        return ds.report(self.energy, 1.0, **options)


@pytest.fixture
def springs():
    return Springs()


def state(springs):
    fields = (springs.x, springs.v, springs.U)
    return [a.to_numpy().tolist() for f in fields for a in (f, f.grad)]


def test_values_and_gradients_are_data(springs):
    springs.x.grad.fill(7.0)
    before = state(springs)
    found = ds.report(springs.energy, 3.0, loss=springs.U, wrt=springs.x, probe=2)
    x = np.linspace(1, 2, 5)
    assert found.loss == pytest.approx((9 * x**2).sum())
    assert np.allclose(found.gradients["x"], 18 * x)
    a, U = found.values
    assert (a.line, a.name, a.value, a.gradient) == (springs.first + 3, "a", 4.5, 9.0)
    assert (U.line, U.name, U.value, U.gradient) == (springs.first + 4, "U[None]", 20.25, 1.0)
    assert found.heat == pytest.approx({a.line: 2 * 3 * np.sqrt((x**2).mean()), U.line: 1.0}, rel=1e-5)
    assert len(found.tape.calls) == 1
    assert not found.diagnostics
    assert state(springs) == before


def test_its_lines_are_those_of_the_file(springs):
    found = ds.report(springs.energy, 3.0, loss=springs.U)
    report = validated(found.json)
    kernel = [springs.first, springs.first + 4]
    assert (report["kind"], report["parts"][-1]) == ("function", kernel)
    at = springs.first - report["first_line"]
    assert report["source"].split("\n")[at : at + 2] == [
        "        @ds.kernel",
        "        def energy(k: float):",
    ]
    assert report["origins"][0]["name"] == HERE
    assert {o["here"] for o in report["origins"]} == {False}
    shown = str(found).split("\n")
    line = springs.first + 3
    assert any(s.startswith(f"{line} ") and "a = k * x[i]" in s and "a = 3" in s for s in shown)
    assert f">{line}</td>" in found._repr_mimebundle_()["text/html"]


def test_funcs_of_the_same_file_have_values_and_heat_too(springs):
    """The adjoint of what `square` returns is 1; code between the definitions is not in the report."""

    @ds.kernel
    def energy():
        for i in springs.x:
            springs.U[None] += behind(springs.x[i])

    @ds.func
    def behind(a):
        twice = 2.0 * a
        return square(twice)

    found = ds.report(energy, loss=springs.U, probe=1)
    report, x = validated(found.json), springs.x.to_numpy()
    first = behind.__dsim_func__.__code__.co_firstlineno
    (twice,) = (v for v in found.values if v.name == "twice")
    assert (twice.line, twice.value, twice.gradient) == (first + 2, 2 * x[1], 4 * x[1])
    assert found.heat[first + 2] == pytest.approx(np.sqrt(((4 * x) ** 2).mean()), rel=1e-5)
    top = square.__dsim_func__.__code__.co_firstlineno
    assert report["parts"][0] == [top, top + 2]
    assert report["parts"][-1][1] == first + 3
    assert "class Springs" not in report["source"]
    shown = str(found).split("\n")
    gap = next(n for n, line in enumerate(shown) if "⋮" in line)
    assert shown[gap - 1].endswith("return a * a")
    assert "def test_" not in str(found)
    html = found._repr_mimebundle_()["text/html"]
    assert "⋮" in html
    assert "class Springs" not in html


def test_it_is_the_report_of_the_cell(notebook):
    cell = notebook.good(GRAVITY).report
    notebook.good("from IPython.display import display")
    ran = notebook.good("found = ds.report(energy, loss=U, wrt=x)\ndisplay(found)")
    report = validated(ran.report)
    parts = ("heat", "probe", "summary", "diagnostics", "kernel", "source")
    assert {p: report[p] for p in parts} == {p: cell[p] for p in parts}
    assert np.allclose(
        notebook.names["found"].gradients["x"], closed_form(notebook.names["x"].to_numpy()), rtol=1e-12
    )
    (bundle,) = [b for b in ran.bundles if MIME in b]
    assert set(bundle) == {MIME, "text/html", "text/plain"}


def test_a_kernel_of_another_cell(notebook):
    notebook.good("from IPython.display import display")
    notebook.good("@ds.kernel\ndef total(k: ds.f64):\n    for i in y:\n        U[None] += k * y[i]")
    report = validated(notebook.good("display(ds.report(total, 2.0, loss=U, probe=3))").report)
    assert report["origins"][0]["name"].startswith("cell In[")
    assert [v["line"] for v in report["probe"]["values"]] == [4]
    assert np.all(notebook.names["y"].grad.to_numpy() == 0)


@pytest.mark.slow
def test_diagnostics_stand_at_their_lines(springs):
    found = ds.report(springs.bend, loss=springs.U)
    at = {d.code: d.span.line for d in found.diagnostics}
    first = springs.bend.function.__code__.co_firstlineno
    assert at["overwrites"] == first + 3
    assert at["nan" if "nan" in at else "infinite-slope"] == first + 5
    shown = str(found)
    assert f"{HERE}, line {first + 3}, column 17: note[overwritten]" in shown
    assert validated(found.json)["diagnostics"]


def test_what_is_asked_for_in_vain_is_told_at_the_call(springs):
    found = ds.report(springs.energy, 1.0, loss=springs.U, wrt=[springs.x, springs.v])
    (d,) = found.diagnostics
    assert d.code == "unreached"
    assert "the gradient of `v` is 0: `energy` does not read `v`" in d.message
    assert d.help == "read `v` in the kernel, or remove it from `wrt`"
    assert "ds.report(springs.energy" in d.span.text
    (told,) = validated(found.json)["diagnostics"]
    assert (told["line"], told["text"].strip()) == (springs.first + 1, "def energy(k: float):")
    assert [r["line"] for r in told["related"]] == [d.span.line]


def test_forward_mode_a_run_and_no_run(springs):
    found = ds.report(springs.energy, 2.0, forward=springs.x)
    assert found.tangents["U"] == pytest.approx((8 * np.linspace(1, 2, 5)).sum())
    assert (found.loss, found.tape, found.heat) == (None, None, {})
    found = ds.report(springs.energy, 2.0, run=True)
    assert [v.gradient for v in found.values] == [None, None]
    found = ds.report(springs.energy)
    assert found.values == ()
    assert str(found).startswith("energy: reads x, accumulates into U")
    assert springs.U[None] == 0


def test_a_check_and_a_listing(springs):
    found = ds.report(springs.energy, 2.0, loss=springs.U, wrt=springs.x, check=True, show="adjoint")
    assert found.check.passed
    assert found.json["open"] == "adjoint"
    assert "adjoint (on the left, lines of test_kernel_report.py):" in str(found)

    @ds.kernel
    def cut():
        for i in springs.x:
            springs.U[None] += ds.stop_grad(springs.x[i]) * springs.x[i]

    found = ds.report(cut, loss=springs.U, wrt=springs.x, check=True)
    (d,) = found.diagnostics
    assert (d.code, "`report.check.plot()` draws the errors" in d.help) == ("wrong-derivative", True)


def test_arrays_and_templates_are_arguments():
    ds.init(default_fp=ds.f64)
    U = ds.field(ds.f64, shape=(), needs_grad=True)
    a = np.arange(4.0)

    @ds.kernel
    def total(a: ds.types.ndarray(), f: ds.template()):
        for i in range(4):
            a[i] += 1
            f[None] += a[i] ** 2

    found = ds.report(total, a, U, loss=U, probe=3)
    assert found.loss == 30.0
    assert a.tolist() == [0, 1, 2, 3]
    assert found.values[-1].value == 16.0
    validated(found.json)


def test_a_tape_after_it_knows_nothing_of_it(springs):
    for _ in range(2):
        ds.report(springs.energy, 2.0, loss=springs.U, forward=springs.x)
    with ds.Tape(springs.U):  # no gradient is left over
        springs.energy(2.0)
    assert np.allclose(springs.x.grad.to_numpy(), 8 * np.linspace(1, 2, 5))


def test_inside_of_a_tape_nothing_is_recorded(springs):
    with ds.Tape(springs.U) as tape:
        springs.energy(2.0)
        ds.report(springs.energy, 5.0, loss=springs.U)
    assert len(tape.calls) == 1
    assert np.allclose(springs.x.grad.to_numpy(), 8 * np.linspace(1, 2, 5))


WRONG = {
    "a func": (lambda s: ds.report(square), ds.LaunchTypeError, "`report` takes a kernel, not"),
    "a vector": (lambda s: s.asked(loss=s.v), ds.GradientError, "the loss must be a single number"),
    "integers": (lambda s: s.asked(loss=s.U, wrt=s.n), ds.GradientError, "`wrt` takes fields of floats"),
    "no gradient": (lambda s: s.asked(loss=s.U, wrt=s.w), ds.GradientError, "has no gradient"),
    "no field": (lambda s: s.asked(loss=s.U, wrt=[3]), ds.LaunchTypeError, "`wrt` takes fields"),
    "no loss": (lambda s: s.asked(wrt=s.x), ValueError, "`wrt` needs a loss"),
    "a check of nothing": (lambda s: s.asked(check=True), ValueError, "`check` needs a loss"),
    "no listing": (
        lambda s: s.asked(show="c"),
        ValueError,
        "`show` is one of adjoint, ir, python, llvm, ptx",
    ),
    "outside": (lambda s: s.asked(probe=9), ValueError, "`probe=9` is outside the loop, .* i from 0 to 4"),
    "indices": (lambda s: s.asked(probe=(1, 2)), ValueError, "the outermost loop has the indices i"),
    "no indices": (lambda s: s.asked(probe=()), ValueError, "`probe` takes 1 to 8 numbers"),
    "a text": (lambda s: s.asked(probe="a"), ValueError, "`probe` takes whole numbers, not 'a'"),
    "a fraction": (lambda s: s.asked(probe=0.5), ValueError, r"`probe` takes whole numbers, not 0\.5"),
    "arguments": (
        lambda s: ds.report(s.energy, loss=s.U),
        ds.LaunchTypeError,
        r"takes 1 argument \(k\), got 0",
    ),
    "a form": (lambda s: s.asked().save("a.pdf"), ValueError, "saved as .html, .json, .txt"),
}


@pytest.mark.parametrize("what", WRONG)
def test_mistakes_are_told_without_frames_of_dsim(springs, what):
    act, kind, said = WRONG[what]
    before = state(springs)
    with pytest.raises(kind, match=said) as caught:
        act(springs)
    assert {entry.path.name for entry in caught.traceback} == {HERE}
    assert state(springs) == before
    refused(lambda: act(springs), said, HERE)


def test_an_error_of_the_run_restores_everything(springs):
    @ds.kernel
    def outside():
        for i in springs.x:
            springs.x[i] = 5.0
            springs.U[None] += springs.x[i + 1]

    before = state(springs)
    with pytest.raises(ds.BoundsError) as caught:
        ds.report(outside, loss=springs.U)
    assert HERE in str(caught.value)
    assert state(springs) == before


def test_it_is_saved(springs, tmp_path):
    found = ds.report(springs.energy, 2.0, loss=springs.U)
    for form in ("html", "json", "txt"):
        found.save(tmp_path / f"r.{form}")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert validated(json.loads((tmp_path / "r.json").read_text("utf-8"))) == found.json
    assert (tmp_path / "r.txt").read_text("utf-8") == f"{found}\n"


HOSTILE = "<img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """The names of the elements of a page."""

    def __init__(self, page):
        super().__init__()
        self.found = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)


def test_the_text_of_a_kernel_is_no_markup(springs, tmp_path):
    x, U = springs.x, springs.U
    name = f"{HOSTILE}.py"
    text = f"@ds.kernel\ndef k():\n    for i in x:  # {HOSTILE}\n        U[None] += x[i]\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = {"ds": ds, "x": x, "U": U}
    exec(compile(text, name, "exec"), names)
    found = ds.report(names["k"], loss=U)
    found.save(tmp_path / "r.html")
    assert HOSTILE in str(found)
    assert "img" not in Tags((tmp_path / "r.html").read_text("utf-8")).found


SCRIPT = """
import sys
import dsim as ds
assert "IPython" not in sys.modules
x = ds.field(ds.f64, shape=3, needs_grad=True)
U = ds.field(ds.f64, shape=(), needs_grad=True)
@ds.kernel
def energy():
    for i in x:
        U[None] += x[i] ** 2
x.fill(2.0)
print(ds.report(energy, loss=U))
"""


@pytest.mark.slow
def test_a_script_without_ipython_prints_it(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=True
    )
    first, *others = done.stdout.split("\n")
    assert first == "energy: reads x, accumulates into U; U = 12, ‖∂U/∂x‖ = 6.93"
    assert any(line.startswith("10 ") and "U[None] += 4" in line for line in others)
    assert done.stderr == ""


def test_a_report_of_another_task_leaves_the_gradients_alone(springs):
    with ds.Tape(springs.U):
        springs.energy(2.0)
    before = springs.x.grad.to_numpy()
    assert before.any()
    found = contextvars.Context().run(springs.asked, loss=springs.U)
    np.testing.assert_allclose(found.gradients["x"], before / 4)
    np.testing.assert_array_equal(springs.x.grad.to_numpy(), before)


def test_pickle_is_told_what_to_keep_instead(springs):
    found = springs.asked(loss=springs.U)
    with pytest.raises(TypeError, match=r"a report of a kernel cannot be copied or pickled[^$]*report\.json"):
        pickle.dumps(found)
