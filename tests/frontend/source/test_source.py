"""The source text of a function: edited files, cells, lambdas, code without source."""

from __future__ import annotations

import functools
import importlib
import linecache
import subprocess
import sys
import types
from pathlib import Path

import pytest

import dsim as ds
from dsim.diagnostics import KernelSyntaxError
from dsim.frontend.source import lambdas
from dsim.frontend.source.same_code import is_code_of
from dsim.frontend.source.source import read

FIRST = """\
import dsim as ds


def helper(v):
    return v + 1.0


@ds.kernel
def k(v: float) -> float:
    return 10.0 * helper(v)


def other(v):
    return 3.0 * v
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of the text `FIRST`, and its file."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "edited_module.py"
    path.write_text(FIRST)
    yield importlib.import_module("edited_module"), path
    del sys.modules["edited_module"]


EDITS = {
    "a number": FIRST.replace("10.0", "20.0").replace("1.0", "2.0"),
    "a sign": FIRST.replace("+", "-"),
    "lines before": FIRST.replace("import dsim", "x = 1\ny = 2\nimport dsim"),
    "another function there": FIRST.replace("def k(", "def j("),
    "no Python": FIRST.replace("return", "((("),
    "empty": "",
}


@pytest.mark.parametrize("text", EDITS.values(), ids=EDITS)
def test_an_edited_file_runs_as_it_was_imported(module, text):
    made, path = module
    path.write_text(text + "\n# longer, so that the change is seen\n")
    assert made.k(2.0) == 30.0


def test_a_file_that_is_gone(module):
    made, path = module
    path.unlink()
    assert made.k(2.0) == 30.0


def test_a_module_that_is_loaded_again(module):
    made, path = module
    assert made.k(2.0) == 30.0
    path.write_text(EDITS["a number"] + "\n")
    importlib.reload(made)
    assert made.k(2.0) == 80.0


def test_a_changed_plain_function_without_its_old_text_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "edited_plain.py"
    path.write_text("def helper(v):\n    return v + 1.0\n")
    made = importlib.import_module("edited_plain")
    path.write_text("def helper(v):\n    return v + 2.0\n# more\n")

    @ds.kernel
    def k(v: float) -> float:
        return made.helper(v)

    with pytest.raises(KernelSyntaxError, match="the source of `helper` was changed after") as error:
        k(1.0)
    assert error.value.diagnostics[0].span.text == "made.helper(v)"
    assert "help: define it again: run its cell, or restart Python" in str(error.value)
    importlib.reload(made)
    assert k(1.0) == 3.0
    del sys.modules["edited_plain"]


def test_code_that_claims_a_file_is_not_read_from_it(module):
    _, path = module
    text = FIRST.replace("10.0", "50.0")
    namespace = {"__name__": "claimed"}
    exec(compile(text, str(path), "exec"), namespace)
    with pytest.raises(KernelSyntaxError, match="was changed after its definition"):
        namespace["k"](1.0)


def test_cells_of_one_name_after_the_other():
    """As a notebook has them: text that only `linecache` knows."""
    kernels = []
    for n in (1.0, 2.0):
        text = f"@ds.kernel\ndef k(v: float) -> float:\n    return v * {n}\n"
        linecache.cache["<cell>"] = (len(text), None, text.splitlines(keepends=True), "<cell>")
        namespace = {"ds": ds, "__name__": "__main__"}
        exec(compile(text, "<cell>", "exec"), namespace)
        kernels.append(namespace["k"])
    assert [k(3.0) for k in kernels] == [3.0, 6.0]
    del linecache.cache["<cell>"]


def wrapped(function):
    @functools.wraps(function)
    def wrapper(v):
        return 10.0 * function(v)

    return wrapper


def test_a_wrapper_is_read_itself():
    """`functools.wraps` leads `inspect` to the function within."""

    @ds.func
    @wrapped
    def f(v):
        return v + 1.0

    @ds.kernel
    def k(v: float) -> float:
        return f(v)

    assert k(2.0) == 30.0


# ------------------------------------------------------------------ lambdas

SEVERAL = [lambda a: a, lambda a: -a, lambda a: (lambda b: b + a)(1.0), lambda a: a]  # noqa: PLC3002
LONG = (
    lambda a: (
        a  # over
        + 1.0  # three
        + 2.0
    ),
    lambda a: "ä" and a * 2.0,
)
BY_DEFAULT = lambda a, f=lambda b: b: f(a)  # noqa: E731


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (SEVERAL[0], "a"),
        (SEVERAL[1], "-a"),
        (SEVERAL[2], "(lambda b: b + a)(1.0)"),
        (LONG[0], "a  # over"),
        (LONG[1], '"ä" and a * 2.0'),
        (BY_DEFAULT, "f(a)"),
        (BY_DEFAULT.__defaults__[0], "b"),
    ],
)
def test_the_lambda_meant_is_found(function, text):
    found = read(function)
    (result,) = found.node.body
    assert found.span(result).text == text
    assert found.name_span().text == "lambda"


def test_lambdas_without_columns():
    """Python can be told not to keep columns; the code decides then."""

    def bare(function):
        first, name = function.__code__.co_firstlineno, function.__code__.co_filename
        columns = [(1, 1, None, None)]
        return types.SimpleNamespace(co_firstlineno=first, co_filename=name, co_positions=lambda: columns)

    lines = linecache.getlines(__file__)
    found = lambdas.find(bare(SEVERAL[1]), lines)
    assert len(found) == 5
    assert [is_code_of(SEVERAL[1], n) for n in found] == [False, True, False, False, False]


# ------------------------------------------------------------------ code and text

GAIN = 2.0


class Owner:
    __hidden = 3.0

    def private(self, v):
        return self.__hidden * v

    def above(self, v):
        return super().__init__() or v

    def checked(self, v):
        return v if __debug__ else -v


def enclosing(a):
    def inner(v, *, b=1.0):
        return [a * v * b * i for i in range(3)]

    def itself(v):
        return itself(v - 1) if v else functools.reduce(max, [v])

    return inner, itself


@pytest.mark.parametrize(
    "function",
    [Owner.private, Owner.above, Owner.checked, *enclosing(1.0), wrapped(len), wrapped, read, is_code_of],
)
def test_code_is_that_of_its_text(function):
    assert read(function).node.name == function.__code__.co_name


def test_code_is_not_that_of_another_text():
    def f(v):
        return v + 1.0

    node = read(f).node
    for other in (lambda v: v + 1, lambda v: v - 1.0, lambda w: w + 1.0, lambda v: v + GAIN):
        assert not is_code_of(other, node)
    assert is_code_of(f, node)


def run(*arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(ds.__file__).parents[1],
    )


COMMAND = """
import dsim as ds
@ds.kernel
def k(n: int) -> float:
    return {value}
print(k(2))
"""


@pytest.mark.slow
def test_a_program_on_the_command_line():
    done = run("-W", "ignore", "-c", COMMAND.format(value="1.5 * n"))
    assert done.stdout == "3.0\n", done.stderr


@pytest.mark.slow
def test_an_error_of_a_program_on_the_command_line_has_its_line():
    done = run("-c", COMMAND.format(value="missing * n"))
    assert "`missing` is not defined" in done.stderr
    assert "5 │     return missing * n" in done.stderr


def test_text_given_to_exec_is_not_there_to_be_read():
    names = {}
    exec("def k(n: int) -> float:\n    return 1.0 * n\n", names)
    with pytest.raises(
        KernelSyntaxError, match="keeps no source for code typed at its prompt or given to `exec`"
    ):
        read(names["k"])


def test_a_text_is_found_once_for_a_code():
    def made(n):
        def inner(v, m=n):
            return v + m

        return inner

    assert read(made(1)) is read(made(2))
    assert read(types.FunctionType(made(1).__code__.replace(), globals())) is not read(made(1))


def test_equal_codes_have_their_own_texts(module):
    """Annotations are no part of a code: the new function's are in the new text."""
    made, path = module
    before = made.other
    assert "def other(v):" in read(before).source.text
    path.write_text(FIRST.replace("def other(v):", "def other(v: float):"))
    importlib.reload(made)
    assert before.__code__ == made.other.__code__
    assert "def other(v: float):" in read(made.other).source.text
    assert "def other(v):" in read(before).source.text
