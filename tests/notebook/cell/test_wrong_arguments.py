"""Arguments of a cell's run that do not fit: no call gives them, so the message says what does."""

import pytest

from dsim.diagnostics import LaunchTypeError

BODY = "\nfor i in y:\n    U[None] += y[i]"
ARRAY = "n: ds.types.ndarray()"


@pytest.mark.parametrize(
    ("parameter", "source", "help"),
    [
        (
            "n: ds.i32",
            "the notebook's variable `n`",
            "change `n` in the notebook, or give the parameter a default",
        ),
        ("n: ds.i32 = 'text'", "its default", "change the default, or the annotation"),
        (ARRAY, "the notebook's variable `n`", "pass an `ndarray` or a NumPy array"),
    ],
)
def test_the_message_says_where_a_value_comes_from(notebook, parameter, source, help):
    notebook.good("n = 'text'")
    ran = notebook.run(f"%%kernel p({parameter}) --loss U{BODY}")
    assert isinstance(ran.error, LaunchTypeError)
    (found,) = ran.error.diagnostics
    assert found.message.startswith("argument `n` of `p` is an ")
    assert found.message.endswith(f"`str` ({source})" if parameter == ARRAY else f"got str ({source})")
    assert found.help == help
    assert "run_cell_magic" not in ran.stdout
    assert f"1 │ %%kernel p({parameter}) --loss U\n" in ran.stdout


def test_an_argument_of_a_call_in_a_cell_is_that_of_the_call(notebook):
    notebook.good("n = 'text'")
    notebook.good(f"%%kernel p(n: ds.i32){BODY}")
    ran = notebook.run("p(n)")
    assert isinstance(ran.error, LaunchTypeError)
    (found,) = ran.error.diagnostics
    assert (found.message, found.help) == ("argument `n` of `p` is an i32: got str", "")
