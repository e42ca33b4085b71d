"""The lines of the adjoint, of Python and of the IR name their origins in the user's program."""

import re

from dsim.backends.cuda import toolchain

BEND = "%%kernel bend\nfor i in y:\n    a = y[i]\n    y[i] = a * a"
SQUARE = "@ds.func\ndef square(a):\n    b = a * a\n    return b"


def sources(report, name, kernel=None):
    """The text of a listing's lines with where each comes from: the name of a cell or file, and a line."""
    (found,) = [
        each for each in report["listings"] if each["name"] == name and kernel in (None, each["kernel"])
    ]
    at = [
        origin if origin is None else (report["origins"][origin]["name"], line)
        for origin, line in zip(found["origins"], found["lines"], strict=True)
    ]
    return list(zip(found["text"].split("\n"), at, strict=True))


def cell_number(notebook):
    """Of the cell that ran last."""
    return notebook.shell.execution_count - 1


def test_every_line_of_an_adjoint_asked_for_elsewhere_leads_to_the_cell_of_the_kernel(notebook):
    notebook.good(BEND)
    cell = f"cell In[{cell_number(notebook)}]"
    report = notebook.good("%adjoint bend").report
    lines = sources(report, "adjoint")
    begin = next(n for n, (text, _) in enumerate(lines) if text.startswith("def "))
    assert lines[begin + 1 :]
    for text, at in lines[begin + 1 :]:
        assert at is not None, text
        quoted = re.search(r"line (\d+):", text)
        assert quoted is None or at == (cell, int(quoted[1]))
    (origin,) = report["origins"]
    assert (origin["name"], origin["here"]) == (cell, False)
    assert origin["lines"] == [
        {"line": n, "text": text} for n, text in enumerate(BEND.split("\n"), 1) if n in (2, 3, 4)
    ]
    rows = {row["label"]: row["value"] for row in report["summary"]["rows"]}
    assert rows == {"defined": f"{cell}, line 1", "reads": "y", "stores": "y", "loops": "line 2: parallel"}


def test_python_and_ir_too(notebook):
    notebook.good(BEND)
    cell = f"cell In[{cell_number(notebook)}]"
    report = notebook.good("%adjoint bend").report
    assert [at for text, at in sources(report, "ir") if "y[i] =" in text or "= y[i]" in text] == [
        (cell, 3),
        (cell, 4),
    ]
    python = [at for text, at in sources(report, "python") if text.startswith("    ")]
    assert python
    assert set(python) == {(cell, 2), (cell, 3), (cell, 4)}


def test_a_line_of_a_func_leads_to_the_cell_of_the_func(notebook):
    notebook.good(SQUARE)
    of_func = f"cell In[{cell_number(notebook)}]"
    report = notebook.good("%%kernel total --loss U\nfor i in y:\n    U[None] += square(y[i])").report
    made = dict(sources(report, "ir"))
    (product,) = [at for text, at in made.items() if "mul" in text]
    (load,) = [at for text, at in made.items() if "= y[i]" in text]
    assert (product, load) == ((of_func, 3), ("this cell", 3))
    assert {"line": 3, "text": "    b = a * a"} in report["origins"][1]["lines"]
    assert report["origins"][0] == {"name": "this cell", "here": True, "lines": []}


def test_a_function_of_dsims_own_is_the_line_that_calls_it(notebook):
    report = notebook.good(
        "%%kernel turn --loss U\nfor i in x:\n    a = ds.Vector([x[i][0], x[i][1]])\n"
        "    U[None] += ds.math.length(ds.math.normalize(a))"
    ).report
    assert [origin["name"] for origin in report["origins"]] == ["this cell"]


def test_a_kernel_of_a_plain_cell_and_of_a_file(notebook, tmp_path, monkeypatch):
    text = (
        "import dsim as ds\n\ndef make(y):\n    @ds.kernel\n    def grow():\n"
        "        for i in y:\n            y[i] = 2.0 * y[i]\n    return grow\n"
    )
    (tmp_path / "far_away_kernels.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    notebook.good("import far_away_kernels\ngrow = far_away_kernels.make(y)")
    report = notebook.good("%adjoint grow").report
    assert report["origins"] == [
        {
            "name": "far_away_kernels.py",
            "here": False,
            "lines": [
                {"line": 6, "text": "        for i in y:"},
                {"line": 7, "text": "            y[i] = 2.0 * y[i]"},
            ],
        }
    ]
    notebook.good("\n# above\n@ds.kernel\ndef shrink():\n    for i in y:\n        y[i] = 0.5 * y[i]")
    cell = f"cell In[{cell_number(notebook)}]"
    report = notebook.good("%adjoint shrink").report
    (origin,) = report["origins"]
    assert origin["name"] == cell
    assert {line["text"].strip() for line in origin["lines"]} == {"for i in y:", "y[i] = 0.5 * y[i]"}


def test_the_margin_in_text(notebook):
    notebook.good(SQUARE)
    func = cell_number(notebook)
    notebook.good("%%kernel total\nfor i in y:\n    U[None] += square(y[i])")
    kernel = cell_number(notebook)
    shown = notebook.good("%adjoint total").form("plain")
    assert f"adjoint (on the left, lines of cell In[{kernel}]):" in shown
    margins = [line.split("│")[0].strip() for line in shown.split("\n") if "│" in line]
    assert set(margins) == {"", "2", "3", f"In[{func}]:3"} | ({f"In[{func}]:4"} & set(margins))


def test_the_margin_in_html(notebook):
    notebook.good(BEND)
    number = cell_number(notebook)
    page = notebook.good("%adjoint bend").form("html")
    assert f"on the left, lines of cell In[{number}]" in page
    assert "<i>4 │ </i>" in page
    ir = page.partition("<summary>IR</summary>")[2]
    assert "<span class=dsim-end>y[i] = a * a</span>" in ir, "the IR quotes no lines of itself"


KERNELS = """%%kernel --loss U
@ds.func
def f(a):
    return a * a
def bend():
    for i in y:
        y[i] = f(y[i])
def total():
    for i in y:
        U[None] += y[i]"""


def test_each_kernel_of_a_cell_has_its_listings(notebook):
    ran = notebook.good(KERNELS.replace("--loss U", "--loss U --show python"))
    names = [(each["kernel"], each["name"]) for each in ran.report["listings"]]
    assert names == [(k, n) for k in ("bend", "total") for n in ("adjoint", "ir", "python")]
    assert ("this cell", 7) in [at for _, at in sources(ran.report, "python", "bend")]
    assert "python of bend (on the left, lines of this cell):" in ran.form("plain")
    assert "python of total (on the left, lines of this cell):" in ran.form("plain")
    page = ran.form("html")
    assert page.count("<summary>Python</summary>") == 1
    assert page.count("<b>bend</b> on the left, lines of this cell") == 3


def test_each_kernel_of_a_cell_is_told_of_in_the_summary(notebook):
    ran = notebook.good(KERNELS)
    rows = [(r["kernel"], r["label"], r["value"]) for r in ran.report["summary"]["rows"]]
    assert rows[:6] == [
        ("bend", "reads", "y"),
        ("bend", "stores", "y"),
        ("bend", "loops", "line 6: parallel"),
        ("total", "reads", "y"),
        ("total", "accumulates", "U"),
        ("total", "loops", "line 9: parallel"),
    ]
    assert {kernel for kernel, _, _ in rows[6:]} == {"total"}
    assert ran.report["summary"]["text"].startswith(
        "bend: reads y, stores y; total: reads y, accumulates into U; U = 8, ‖∂U/∂y‖ = "
    )
    plain = ran.form("plain").split("\n")
    assert plain[1:4] == ["  bend", "    reads        y", "    stores       y"]
    assert "  total" in plain
    assert 'class="dsim-kernel" style="text-align: left">bend</th>' in ran.form("html")


def test_the_one_line_of_many_kernels_has_their_names(notebook):
    each = "def {0}():\n    for i in y:\n        y[i] = 1.0"
    report = notebook.good("%%kernel\n" + "\n".join(each.format(n) for n in "abcd")).report
    assert report["summary"]["text"] == "4 kernels, a, b, c and d"
    assert len(report["summary"]["rows"]) == 8


def test_one_kernel_in_one_line(notebook):
    told = {
        "for i in y:\n    y[i] = 1.0": "k: stores y",
        "for i in y:\n    y[i] += x[i][0] * v[i][0]": "k: reads x and v, accumulates into y",
        "a = 1.0": "k: uses no field",
        "y[0] = U[None] + x[0][0] + v[0][0]": "k: reads U, x and v, stores y",
    }
    for body, text in told.items():
        assert notebook.good(f"%%kernel k\n{body}").report["summary"]["text"] == text
    notebook.good("a, b, c, d = (ds.field(ds.f64, shape=()) for _ in range(4))")
    many = notebook.good("%%kernel k\na[None] = a[None] + b[None] + c[None] + d[None]").report
    assert many["summary"]["text"] == "k: reads 4 fields, stores a"


def test_ptx_without_libdevice_says_what_is_missing(notebook, monkeypatch):
    monkeypatch.setattr(toolchain, "libdevice", lambda: None)
    report = notebook.good("%%kernel wave --show ptx\nfor i in y:\n    y[i] = ds.sin(y[i])").report
    assert report["open"] == "ptx"
    (found,) = [each for each in report["listings"] if each["name"] == "ptx"]
    message, advice = found["text"].split("\n")
    assert message.startswith("// `wave` calls sin, and libdevice")
    assert advice == f"// help: {toolchain.LIBDEVICE_HELP}"
