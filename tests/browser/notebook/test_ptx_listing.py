"""The PTX of a kernel, in a tab of its report."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.live.test_live import cells
from tests.browser.server import START_SECONDS

SETUP = """\
import dsim as ds
%load_ext dsim
ds.init(default_fp=ds.f32)
x = ds.field(ds.f32, shape=(256, 256), needs_grad=True, name="x")
U = ds.field(ds.f32, shape=(), needs_grad=True, name="U")"""

ENERGY = """\
%%kernel energy --loss U --wrt x --show ptx
for i, j in x:
    U[None] += 0.5 * x[i, j] ** 2"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_a_cell_opens_with_it(lab, theme):
    lab.theme(theme)
    lab.open(*cells(SETUP, ENERGY), kernel=True)
    lab.run_all()
    here = lab.cell(1)
    tab = here.get_by_role("tab", selected=True)
    expect(tab).to_have_text("PTX", timeout=START_SECONDS * 1000)
    expect(here.get_by_role("tab")).to_have_text(["Summary", "Tape", "Adjoint", "IR", "Python", "PTX"])
    text = here.get_by_role("tabpanel", name="PTX").get_by_label("ptx of energy")
    expect(text.locator(".cm-line").first).to_have_text(
        "// energy: PTX 6.3 for sm_75 and newer, launched in this order:"
    )
    expect(text).to_contain_text(".visible .entry task_0_entry(")
    # operands stand in a column
    assert {0} < columns(text.locator(".cm-line").all_inner_texts()) <= {0, 24, 32}
    # a line of machine code comes from no line of the cell
    expect(here.locator(".dsim-origin .cm-gutterElement:visible")).to_have_count(0)
    lab.shoot(f"ptx-{theme.split()[-1].lower()}")


def columns(lines: list[str]) -> set[int]:
    """Where the operands of instructions begin; 0 for other lines."""
    found = [re.match(r" {8}[a-z][\w.]* +(?=[%\[{])", line) for line in lines]
    return {each.end() if each else 0 for each in found}
