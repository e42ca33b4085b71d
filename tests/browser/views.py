"""User actions in JupyterLab and in Notebook 7, for tests."""

import itertools
import re
from pathlib import Path

import nbformat
from nbformat import v4
from playwright.sync_api import Locator, Page, TimeoutError, expect

from tests.browser.reports import MIME
from tests.browser.server import START_SECONDS, TOKEN

WINDOW = {"width": 1200, "height": 1000}
numbers = itertools.count(1)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def cell(source: str, *reports: dict) -> nbformat.NotebookNode:
    """A cell that was run, and whose outputs carry these reports."""
    outputs = [
        v4.new_output(
            "display_data",
            data={MIME: each, "text/html": "<b>the HTML form</b>", "text/plain": "the plain form"},
        )
        for each in reports
    ]
    return v4.new_code_cell(source, outputs=outputs)


def write(folder: Path, cells: list) -> str:
    """Write a notebook; its name."""
    notebook = v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = KERNEL
    notebook.metadata.language_info = {"name": "python", "codemirror_mode": {"name": "ipython", "version": 3}}
    name = f"notebook-{next(numbers)}.ipynb"
    nbformat.write(notebook, folder / name)
    return name


# The status of the current notebook's kernel, once there is one. A notebook that was closed just before may
# have left the place of the current widget to none.
READY = """() => {
    const shell = window.jupyterapp.shell;
    if (!shell.currentWidget?.context) {
        const open = Array.from(shell.widgets('main')).filter(widget => widget.context);
        open.slice(-1).forEach(widget => shell.activateById(widget.id));
    }
    return shell.currentWidget?.context?.sessionContext.kernelDisplayStatus;
}"""


class View:
    """A notebook that is open in a page."""

    def __init__(self, page: Page, screenshots: Path):
        self.page = page
        self.screenshots = screenshots

    def cell(self, index: int) -> Locator:
        return self.page.locator(".jp-Notebook:visible .jp-Cell").nth(index)

    def start_all(self):
        """Let all cells run."""
        try:
            self.page.wait_for_function(f"({READY})() === 'idle'", timeout=START_SECONDS * 1000)
        except TimeoutError as late:
            late.add_note(f"the notebook's kernel is {self.page.evaluate(READY)}")
            raise
        self.page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")

    def run_all(self):
        """Run all cells, and wait until the last one is through."""
        self.start_all()
        last = self.page.locator(".jp-Notebook:visible .jp-Cell .jp-InputPrompt").last
        expect(last).to_have_text(re.compile(r"\[\d+\]:"), timeout=START_SECONDS * 1000)

    def note_flashes(self):
        """Keep the text of each line that flashes from here on: a flash may be over before one looks."""
        self.page.evaluate(
            """() => {
                const flashed = (window.flashed = []);
                document.addEventListener('animationstart', ({ animationName, target }) => {
                    if (animationName === 'dsim-flash') {
                        flashed.push(target.textContent);
                    }
                });
            }"""
        )

    def expect_flash(self, line: str):
        """Wait until a line with this text has flashed."""
        self.page.wait_for_function("line => window.flashed.includes(line)", arg=line)

    def shoot(self, name: str):
        """Leave a picture to look at."""
        self.screenshots.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.screenshots / f"{name}.png")


class Lab(View):
    """JupyterLab."""

    def __init__(self, page: Page, folder: Path, screenshots: Path):
        super().__init__(page, screenshots)
        self.folder = folder

    def open(self, *cells, kernel: bool = False) -> str:
        """Open a notebook with these cells; a kernel starts only where a test needs one."""
        name = write(self.folder, list(cells))
        self.open_file(name, kernel=kernel)
        return name

    def open_file(self, name: str, *, kernel: bool = False):
        preference = {} if kernel else {"kernelPreference": {"canStart": False, "shouldStart": False}}
        self.command("docmanager:open", {"path": name, **preference})
        self.page.locator(".jp-Notebook:visible .jp-Cell").first.wait_for()

    def command(self, name: str, arguments: dict | None = None):
        script = "([name, args]) => window.jupyterapp.commands.execute(name, args).then(() => null)"
        self.page.evaluate(script, [name, arguments or {}])

    def theme(self, name: str):
        self.command("apputils:change-theme", {"theme": name})

    def close(self):
        """Close the notebooks, saved or not, and end their kernels."""
        self.page.evaluate(
            """() => {
                for (const widget of Array.from(window.jupyterapp.shell.widgets('main'))) {
                    if (widget.context) {
                        widget.context.model.dirty = false;
                        widget.context.sessionContext.shutdown();
                    }
                    widget.close();
                }
            }"""
        )


class Notebook7(View):
    """Notebook 7."""

    def __init__(self, page: Page, address: str, folder: Path, screenshots: Path):
        super().__init__(page, screenshots)
        self.address = address
        self.folder = folder

    def open(self, *cells) -> str:
        name = write(self.folder, list(cells))
        self.page.goto(f"{self.address}/notebooks/{name}?token={TOKEN}")
        self.page.locator(".jp-Notebook .jp-Cell .cm-content").first.wait_for(timeout=START_SECONDS * 1000)
        return name
