"""Kernels that are defined in cells under ``%%time`` and ``%%timeit``."""

import pytest

from dsim.diagnostics import CompilationError, KernelSyntaxError

BODY = """@ds.func
def twice(a):
    return 2 * a

@ds.kernel
def tk(f: ds.template()):
    for i in y:
        U[None] += f(twice(y[i]))
tk(lambda a: a * a)
total = U[None]"""
MAGICS = ["%%time", "%%timeit -n1 -r1"]


@pytest.mark.parametrize("magic", [*MAGICS, "%%capture\n\n%%time\n"])
def test_a_kernel_under_a_magic_is_compiled(notebook, magic):
    notebook.good(f"{magic}\n{BODY}")
    assert notebook.names["U"][None] == pytest.approx(4 * (notebook.names["y"].to_numpy() ** 2).sum())


@pytest.mark.parametrize("magic", MAGICS)
def test_an_error_names_the_line_of_the_cell(notebook, magic):
    notebook.good("y.fill(1.0)")
    number = notebook.shell.execution_count
    ran = notebook.run(f"{magic}\n\n" + BODY.replace("2 * a", "nix * a"))
    assert isinstance(ran.error, CompilationError)
    assert f"--> cell In[{number}]:5:12\n 5 │     return nix * a\n   │            ^^^\n" in ran.stdout
    assert "10 │         U[None] += f(twice(y[i]))\n" in ran.stdout


def test_a_kernel_is_launched_from_a_later_cell(notebook):
    notebook.good("%%time\n" + BODY.partition("tk(lambda")[0])
    notebook.good("%%time\nother = 1")
    notebook.good("tk(abs)")
    assert notebook.names["U"][None] == pytest.approx(2 * notebook.names["y"].to_numpy().sum())
    report = notebook.good("ds.report(tk, abs, loss=U)").stdout
    assert "def tk(f: ds.template()):" in report


@pytest.mark.parametrize("magic", ["%%time", "%%timeit"])
def test_without_the_history_the_magic_is_named(notebook, magic):
    options = "" if magic == "%%time" else " -n1 -r1"
    ran = notebook.run(f"{magic}{options}\n{BODY}", history=False)
    assert isinstance(ran.error, KernelSyntaxError)
    (found,) = ran.error.diagnostics
    why = f"`{magic}` compiles code without keeping its source"
    assert found.message == f"the source of `tk` cannot be found: {why}"
    assert found.help == f"define it in a cell of its own, without `{magic}`"
