"""`%%kernel` cells with funcs and no kernel."""

from tests.notebook.report.test_reports import validated


def test_a_cell_of_funcs_alone(notebook):
    ran = notebook.good("%%kernel\nK = 2.0\n@ds.func\ndef square(a):\n    return a * a * K")
    assert ran.report["summary"]["text"] == "square: a func, compiled in each kernel that calls it"
    assert (ran.report["kernel"], ran.report["status"], ran.report["diagnostics"]) == (None, "ok", [])
    validated(ran.report)
    notebook.good("%%kernel use --loss U\nfor i in y:\n    U[None] += square(y[i])")
    two = "%%kernel\n@ds.func\ndef one(a):\n    return a\n@ds.func\ndef two(a):\n    return one(a)"
    text = notebook.good(two).form("plain")
    assert text == "one and two: funcs, compiled in each kernel that calls them"


def test_options_need_a_kernel(notebook):
    before = notebook.names.get("square")
    ran = notebook.run("%%kernel --loss U\n@ds.func\ndef square(a):\n    return a * a")
    assert "the cell defines no kernel, only funcs, and the options apply to a kernel" in ran.stdout
    assert "help: remove the options, or write the kernel: `def step(): …`" in ran.stdout
    assert notebook.names.get("square") is before
    ran = notebook.run("%%kernel\nimport math")
    assert "the cell defines no kernel\n" in ran.stdout
