"""One server, one browser, one open JupyterLab for all tests; each opens a notebook of its own in it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser import chromium
from tests.browser.server import CHECKOUT, START_SECONDS, TOKEN, serve
from tests.browser.views import WINDOW, Lab, Notebook7

# Two browsers share the machine with compilers: what comes at all may come late.
WAIT = 20_000  # ms
expect.set_options(timeout=WAIT)

SCREENSHOTS = CHECKOUT / "build" / "screenshots"

# What JupyterLab moves and fades by itself costs a twentieth of the processor's time in these tests.
STILL = """:not([class*="dsim"]), :not([class*="dsim"])::before, :not([class*="dsim"])::after {
    transition: none !important; animation: none !important
}"""


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def notebooks(tmp_path_factory) -> Path:
    """The folder whose notebooks the server shows."""
    return tmp_path_factory.mktemp("notebooks")


@pytest.fixture(scope="package")
def server(notebooks, tmp_path_factory) -> Iterator[str]:
    with serve(notebooks, tmp_path_factory.mktemp("home")) as address:
        yield address


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = chromium.find()
    if path is None:
        pytest.fail(chromium.MISSING, pytrace=False)
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=path, args=chromium.FLAGS)


class Watch:
    """What a page says, and whom it asks, beside what is shown."""

    def __init__(self, page: Page):
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(f"{message.text} ({message.location['url']})"))
        page.on("pageerror", lambda error: self.said.append(f"{error.message} {error.stack}"))
        page.on("request", lambda request: self.asked.append(request.url))

    def check(self):
        """Nothing of ours in the console, and no word to anyone but the server."""
        # An extension that throws is reported by the editor.
        assert [text for text in self.said if "dsim" in text or "CodeMirror" in text] == []
        assert [
            url for url in self.asked if not re.match(r"(https?|ws)://127\.0\.0\.1:|data:|blob:", url)
        ] == []
        self.said.clear()
        self.asked.clear()


@pytest.fixture(scope="package")
def lab_page(server, browser) -> Page:
    page = browser.new_page(viewport=WINDOW)
    page.set_default_timeout(WAIT)
    page.watch = Watch(page)
    page.goto(f"{server}/lab?token={TOKEN}&reset")
    page.wait_for_function("window.jupyterapp?.restored", timeout=START_SECONDS * 1000)
    page.evaluate("window.jupyterapp.restored.then(() => null)")
    page.add_style_tag(content=STILL)
    return page


@pytest.fixture
def lab(lab_page, notebooks, request) -> Iterator[Lab]:
    """JupyterLab, with no notebook open yet."""
    lab = Lab(lab_page, notebooks, SCREENSHOTS)
    yield lab
    lab.close()
    lab_page.watch.check()


@pytest.fixture
def notebook7(server, browser, notebooks) -> Iterator[Notebook7]:
    """Notebook 7, with no notebook open yet."""
    page = browser.new_page(viewport=WINDOW)
    page.set_default_timeout(WAIT)
    page.watch = Watch(page)
    yield Notebook7(page, server, notebooks, SCREENSHOTS)
    page.watch.check()
    page.close()
