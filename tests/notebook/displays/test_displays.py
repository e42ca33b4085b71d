"""Fields, kernels and Jacobians as notebooks show them."""

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image


class Shown(HTMLParser):
    """Elements of a display, and the rows of its table."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.rows, self.title, self.image = [], {}, "", {}
        self._in, self._label, self.points = "", "", []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._in = tag
        if tag == "polyline":
            self.points.append(dict(attrs)["points"])
        if tag == "img":
            self.image = dict(attrs)

    def handle_data(self, data):
        if self._in == "th":
            self._label = data
        elif self._in == "td":
            self.rows[self._label] = data
        elif self._in == "caption":
            self.title += data


@pytest.fixture
def shown(notebook):
    """Displays an expression."""
    notebook.good("from IPython.display import display")

    def show(expression):
        (bundle,) = notebook.good(f"display({expression})").bundles
        assert bundle["text/plain"] == repr(eval(expression, notebook.names))
        return Shown(bundle["text/html"])

    return show


def test_a_field_of_numbers_has_its_facts_and_a_line(shown):
    made = shown("y")
    assert made.rows == {
        "type": "f64",
        "shape": "(8,), 8 elements",
        "memory": "64 bytes, in the order of its axes",
        "range": "0.5 to 1.5",
        "gradient": "yes: needs_grad=True",
    }
    assert made.tags.count("polyline") == 1
    assert shown("y.grad").rows["range"] == "0 to 0"
    assert shown("v").rows["gradient"] == "no"


def test_vectors_have_a_line_for_each_number_and_components_one(shown):
    made = shown("x")
    assert (made.rows["type"], made.tags.count("polyline")) == ("vectors of 2 f64", 2)
    assert shown("x.get_scalar_field(1)").tags.count("polyline") == 1


def test_two_axes_are_an_image_with_the_first_index_to_the_right(notebook, shown):
    notebook.good("u = ds.field(ds.f64, shape=(3, 2))\nu.from_numpy(np.arange(6.0).reshape(3, 2))")
    made = shown("u")
    kind, data = made.image["src"].split(",")
    assert kind == "data:image/png;base64"
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))).astype(int).sum(-1)
    assert image.shape == (2, 3)
    assert image[1, 0] == image.min()  # u[0, 0]
    assert image[0, 2] == image.max()  # u[2, 1]
    assert made.image["alt"] == "values from 0, dark, to 5, bright; the first index to the right"
    notebook.good("big = ds.field(ds.f32, shape=(1000, 300))")
    assert "every 8th element" in shown("big").image["alt"]


def test_what_is_not_finite_is_counted(notebook, shown):
    notebook.good("y[2] = np.nan\ny[5] = np.inf")
    made = shown("y")
    assert made.rows["not finite"] == "1 NaN, 1 infinite of 8 numbers"
    assert made.rows["range"].endswith("to 1.5, where finite")
    assert made.tags.count("polyline") == 3  # with gaps
    notebook.good("y[1] = np.nan")
    assert shown("y").points[0].split() == ["6.0,84.0"] * 2  # a dot
    notebook.good("y.fill(np.nan)\nw = ds.field(ds.f64, shape=(4, 4))\nw.fill(np.inf)")
    assert "range" not in shown("y").rows
    assert shown("w").image == {}


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        ("ds.field(ds.i32, shape=())", {"type": "i32", "shape": "()", "range": "0 to 0"}),
        ("ds.field(ds.f64)", {"memory": "not placed yet"}),
        ("ds.Matrix.field(3, 2, ds.f32, shape=4)", {"type": "3×2 matrices of f32"}),
        ("ds.ndarray(ds.f64, shape=4)", {"type": "f64", "shape": "(4,), 4 elements"}),
        ("ds.field(ds.f64, shape=4, offset=-2)", {"first index": "(-2,)"}),
        ("ds.field(ds.i32, shape=(2, 3, 4))", {"shape": "(2, 3, 4), 24 elements"}),
    ],
)
def test_other_fields(notebook, shown, made, rows):
    notebook.good(f"f = {made}")
    assert rows.items() <= shown("f").rows.items()


def test_a_field_that_was_dropped(notebook, shown):
    notebook.good("ds.reset()")
    assert shown("y").rows["memory"] == "dropped by reset()"


def test_a_field_of_structs_shows_its_members(notebook, shown):
    notebook.good("s = ds.Struct.field({'at': ds.math.vec2, 'kind': ds.i32}, shape=4)")
    rows = shown("s").rows
    assert (rows["shape"], rows[".kind"]) == ("(4,)", "i32")
    assert rows[".at"].startswith("vectors of 2 f")


def test_a_kernel_shows_its_accesses_and_is_not_compiled_for_it(notebook, shown):
    notebook.good(
        "@ds.kernel\ndef bend(k: ds.f64):\n    for i in y:\n        y[i] = k * y[i] ** 2\n"
        "        U[None] += y[i]"
    )
    made = shown("bend")
    assert made.title.startswith("kernel bend(k: ")
    assert re.fullmatch(r"cell In\[\d+\], line 2", made.rows.pop("defined"))
    assert made.rows == {
        "reads": "y",
        "stores": "y",
        "accumulates": "U",
        "compiled": "not yet: at its first launch",
        "differentiable": "yes; a tape saves what it overwrites",
    }
    notebook.good("bend(1.0)")
    assert shown("bend").rows["compiled"] == "yes"


def test_kernels_that_have_no_gradient_or_fail(notebook, shown):
    notebook.good("n = ds.field(ds.i32, shape=4)")
    notebook.good("@ds.kernel\ndef count():\n    for i in n:\n        n[i] += 1")
    assert shown("count").rows["differentiable"] == "nothing to differentiate: it uses no field of floats"
    notebook.good("@ds.kernel\ndef wrong():\n    y[0] = nix")
    assert shown("wrong").rows["compiled"] == "cannot be: `nix` is not defined"
    notebook.good("@ds.kernel\ndef generic(f: ds.template()):\n    f[0] = 1.0")
    assert shown("generic").rows["compiled"].startswith("for each combination of its arguments")


def test_a_warning_of_a_kernel_waits_for_its_launch(notebook, shown):
    notebook.good("@ds.kernel\ndef back():\n    for i in range(1, 8):\n        y[i] = y[i - 1] + v[i][0]")
    assert shown("back").rows["compiled"] == "not yet: at its first launch"
    assert "serial" in str(notebook.run("back()").error)  # in tests warnings are errors


def test_a_jacobian_shows_its_fields(notebook, shown):
    notebook.good("@ds.kernel\ndef squares():\n    for i in y:\n        v[i][0] = y[i] ** 2")
    notebook.good("J = ds.linearize(squares, wrt=y, out=v)")
    rows = shown("J").rows
    assert (rows["shape"], rows["rows"], rows["columns"]) == ("16 × 8", "v (8, 2)", "y (8,)")
    notebook.good("J.sparse()")
    assert shown("J").rows["last sparse matrix"].startswith("by ")


def test_names_are_no_markup(notebook, shown):
    notebook.good("h = ds.field(ds.f64, shape=3, name='<img src=x onerror=alert(1)>\\x1b')")
    made = shown("h")
    assert "img" not in made.tags
    assert made.title.startswith("<img src=x onerror=alert(1)>")
    assert "\x1b" not in made.title


def test_nothing_is_left_after_unloading(notebook):
    notebook.good("from IPython.display import display")
    notebook.good("%unload_ext dsim")
    (bundle,) = notebook.good("display(y)").bundles
    assert "text/html" not in bundle
