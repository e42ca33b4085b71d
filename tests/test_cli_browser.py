"""`dsim lab` in a real browser: the extension draws reports, and draws them as text.

Needs Chromium, so it is deselected by default; `make test ARGS="-m browser"` runs it.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import nbformat
import pytest
from nbformat import v4
from playwright.sync_api import Browser, expect, sync_playwright

pytestmark = pytest.mark.browser

MIME = "application/vnd.dsim.report+json"
HOSTILE = "<img src=x onerror=\"document.title = 'broken into'\"> 1 < 2"
TOKEN = "a-token-for-this-test"
# Chromium of the system, as root in a container, with no wish to talk to anyone.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
START_SECONDS = 60


def report(data: dict) -> nbformat.NotebookNode:
    """A cell whose output carries a report in its three forms."""
    forms = {MIME: data, "text/html": "<b>html</b>", "text/plain": "plain text"}
    output = v4.new_output("display_data", data=forms)
    return v4.new_code_cell("1", outputs=[output])


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab that shows a notebook with two reports."""
    cells = [report({"summary": HOSTILE}), report({"of": "the future"})]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "reports.ipynb")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = tmp_path / "home"
    home.mkdir()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dsim",
            "lab",
            str(tmp_path),
            "--no-browser",
            "--allow-root",
            f"--port={port}",
        ],
        env={**os.environ, "HOME": str(home), "JUPYTER_TOKEN": TOKEN},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}/lab/tree/reports.ipynb?token={TOKEN}"
    try:
        wait_for(address)
        yield address
    finally:
        process.terminate()
        process.wait()


def wait_for(address: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            urllib.request.urlopen(address).close()
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


@pytest.fixture
def browser():
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert path, "install Chromium to run the tests marked `browser`"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


def test_reports_are_drawn_as_text(lab: str, browser: Browser):
    page = browser.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(lab)
    drawn = page.locator(".dsim-report")
    expect(drawn).to_have_count(2, timeout=START_SECONDS * 1000)
    expect(drawn.nth(0)).to_have_text(HOSTILE)
    expect(drawn.nth(1)).to_have_text("plain text")
    assert drawn.nth(0).locator("*").count() == 0
    assert "broken into" not in page.title()
    assert [url for url in asked if not re.match(r"https?://127\.0\.0\.1:|data:|blob:", url)] == []
