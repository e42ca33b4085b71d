"""Below an error or a warning of a cell stands what its code means; in a report, behind the message."""

import re
import warnings
from html import unescape

import pytest

from dsim.diagnostics.explanations import parts
from dsim.notebook import explaining
from tests.notebook.cells import paged

SHIFTED = "@ds.kernel\ndef shifted():\n    for i in y:\n        U[None] += y[i + 1]\n\n\nshifted()"
TWICE = "%%kernel wrong\nfor i in y:\n    y[0.5] = 1.0\n    y[i] = speed"
OVERWRITES = "%%kernel shrink\nfor i in y:\n    y[i] = y[i] * y[i]"

UNREACHED = "with ds.Tape(U):\n    above()\ny.grad.to_numpy()"
ABOVE = "@ds.kernel\ndef above():\n    for i in y:\n        U[None] += 1.0 if y[i] > 0.0 else 0.0"


@pytest.fixture
def page(notebook):
    """A notebook that has a page."""
    with paged(notebook, explaining) as found:
        yield found


def meanings(markup):
    """The summaries and the contents of explanations."""
    found = re.findall(
        r'<details class="dsim-explained"><summary>(.*?)</summary>(.*?)</details>', markup, re.DOTALL
    )
    return [tuple(unescape(re.sub("<.*?>", "", each)) for each in pair) for pair in found]


def explained_in_full(code, content):
    return all(part.text in content for part in parts(code))


def test_an_error_is_explained_below_it(page):
    ran = page.run(SHIFTED)
    assert isinstance(ran.error, IndexError)
    ((summary, content),) = meanings(ran.bundles[-1]["text/html"])
    assert summary == "What error[out-of-bounds] means"
    assert explained_in_full("out-of-bounds", content)
    assert ran.bundles[-1]["text/plain"] == "What it means: `dsim explain out-of-bounds`"


def test_all_codes_of_an_error_are_explained_once(page):
    ran = page.run(TWICE.replace("y[i] = speed", "y[i] = speed\n    y[1.5] = 2.0"))
    summaries = [summary for summary, _ in meanings(ran.bundles[-1]["text/html"])]
    assert summaries == ["What error[index] means", "What error[unknown-name] means"]


@pytest.mark.slow
def test_other_errors_and_terminals_get_nothing_more(page, notebook):
    assert page.run("1 / 0").bundles == []
    explaining.remove(page.shell)
    assert notebook.run(SHIFTED).bundles == []


@pytest.fixture
def shown():
    """The warnings that are shown."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def test_a_warning_is_explained_below_its_cell_once(shown, page):
    assert page.good(ABOVE).bundles == []
    ran = page.good(f"{UNREACHED}\n{UNREACHED}")
    assert len(shown) == 2
    ((summary, content),) = meanings(ran.bundles[-1]["text/html"])
    assert summary == "What warning[unreached] means"
    assert explained_in_full("unreached", content)
    assert ran.bundles[-1]["text/plain"] == "What it means: `dsim explain unreached`"
    assert page.good("1 + 1").bundles == []


def test_a_warning_before_an_error_is_explained_too(shown, page):
    page.good(ABOVE)
    ran = page.run(f"{UNREACHED}\n{SHIFTED}")
    summaries = [summary for summary, _ in meanings(ran.bundles[-1]["text/html"])]
    assert summaries == ["What warning[unreached] means", "What error[out-of-bounds] means"]


@pytest.mark.parametrize("heard", ["record=True", "action='ignore'"])
def test_a_warning_that_nobody_sees_is_not_explained(shown, page, heard):
    page.good(f"import warnings\n{ABOVE}")
    quiet = "\n".join(f"    {line}" for line in UNREACHED.splitlines())
    assert page.good(f"with warnings.catch_warnings({heard}):\n{quiet}").bundles == []
    assert shown == []


def test_other_warnings_and_those_between_cells_are_not_explained(shown, page):
    page.good(f"import warnings\n{ABOVE}")
    assert page.good("warnings.warn('mine')").bundles == []
    exec(UNREACHED, page.shell.user_ns)
    assert len(shown) == 2
    assert page.good("1 + 1").bundles == []


def test_afterwards_warnings_are_shown_as_before(shown, notebook):
    before = warnings.showwarning
    with paged(notebook, explaining):
        assert warnings.showwarning is not before
    assert warnings.showwarning is before


def test_who_has_come_in_between_stays(shown, notebook, monkeypatch):
    with paged(notebook, explaining):
        inner = warnings.showwarning
        told = []

        def outer(*shown):
            told.append(shown)
            inner(*shown)

        monkeypatch.setattr(warnings, "showwarning", outer)
    assert warnings.showwarning is outer
    notebook.good(ABOVE)
    assert notebook.good(UNREACHED).bundles == []
    assert len(told) == len(shown) == 1


def test_a_diagnostic_of_a_report_opens_what_its_level_and_code_mean(notebook):
    ran = notebook.good(OVERWRITES)
    ((summary, content),) = meanings(ran.form("html"))
    assert summary == "note[overwritten] `y[i]` is overwritten after it was read"
    assert explained_in_full("overwrites", content), "a note: a tape saves the value"
    (explanation,) = ran.report["explanations"]
    assert (explanation["level"], explanation["code"]) == ("note", "overwritten")
    assert "address" not in explanation


def test_a_report_without_diagnostics_explains_nothing(notebook):
    assert "explanations" not in notebook.good("%%kernel rest\nfor i in y:\n    y[i] = 0.0").report


@pytest.mark.parametrize("site", ["https://example.org/dsim/", "https://example.org/dsim"])
def test_an_address_of_the_documentation_is_linked(notebook, site, monkeypatch):
    monkeypatch.setenv("DSIM_DOCS", site)
    address = "https://example.org/dsim/errors.html#overwrites"
    ran = notebook.good(OVERWRITES)
    assert ran.report["explanations"][0]["address"] == address
    assert f'<a href="{address}" target="_blank" rel="noopener">' in ran.form("html")


def test_nothing_but_an_address_of_the_web_is_linked(notebook, monkeypatch):
    monkeypatch.setenv("DSIM_DOCS", "javascript:alert(1)//")
    ran = notebook.good(OVERWRITES)
    assert "address" not in ran.report["explanations"][0]
    assert "href" not in ran.form("html")
