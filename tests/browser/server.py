"""A JupyterLab for the tests: on loopback, with a token, with the extension and the dsim of this checkout.

The same server shows Notebook 7 at `/notebooks/`. Its kernels are forks of one process.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.kernels.forks import CAN_FORK, describe, fork_server

CHECKOUT = Path(__file__).parents[2]
EXTENSION = CHECKOUT / "dsim" / "labextension"
TOKEN = "a-token-for-these-tests"
START_SECONDS = 60

# Nothing that asks the network, and no wish of a window that is not there.
CONFIG = {
    "LabApp": {"expose_app_in_browser": True, "check_for_updates_class": "jupyterlab.NeverCheckForUpdate"},
    "JupyterNotebookApp": {"expose_app_in_browser": True},
    "LanguageServerManager": {"autodetect": False},
}
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False},
}
# Parts of JupyterLab that no test looks at. Each adds to every notebook that is opened: a sixth of the
# processor's time in these tests.
UNUSED = [
    "@jupyter-notebook/lab-extension",
    "@jupyter/nbgrader",
    "@jupyterlab/celltags-extension",
    "@jupyterlab/csvviewer-extension",
    "@jupyterlab/debugger-extension",
    "@jupyterlab/extensionmanager-extension",
    "@jupyterlab/fileeditor-extension",
    "@jupyterlab/help-extension",
    "@jupyterlab/htmlviewer-extension",
    "@jupyterlab/hub-extension",
    "@jupyterlab/json-extension",
    "@jupyterlab/launcher-extension",
    "@jupyterlab/logconsole-extension",
    "@jupyterlab/lsp-extension",
    "@jupyterlab/metadataform-extension",
    "@jupyterlab/pdf-extension",
    "@jupyterlab/running-extension",
    "@jupyterlab/terminal-extension",
    "@jupyterlab/toc-extension",
    "@jupyterlab/vega5-extension",
    "@jupyterlab/workspaces-extension",
]


def prepare(home: Path) -> dict[str, str]:
    """Write a configuration below `home`; the environment of a server that finds it and nothing else."""
    config = home / "config"
    settings = config / "lab" / "user-settings" / "@jupyterlab"
    for name, values in SETTINGS.items():
        path = settings / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    (config / "jupyter_server_config.json").write_text(json.dumps(CONFIG))
    page = config / "labconfig" / "page_config.json"
    page.parent.mkdir()
    page.write_text(json.dumps({"disabledExtensions": dict.fromkeys(UNUSED, True)}))
    extensions = home / "share" / "labextensions"
    extensions.mkdir(parents=True)
    assert (EXTENSION / "package.json").exists(), "build the extension: make setup"
    (extensions / "dsim-lab").symlink_to(EXTENSION)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")},
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_PATH": str(home / "share"),
        "JUPYTER_TOKEN": TOKEN,
        "PYTHONPATH": str(CHECKOUT),
    }


@contextlib.contextmanager
def serve(notebooks: Path, home: Path) -> Iterator[str]:
    """Run a server that shows the files in `notebooks`; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "dsim",
        "lab",
        str(notebooks),
        "--no-browser",
        "--allow-root",
        f"--port={port}",
    ]
    log = home / "server.log"
    environment = prepare(home)
    with contextlib.ExitStack() as forks, log.open("wb") as output:
        if CAN_FORK:
            describe(home / "share", "python3", forks.enter_context(fork_server()))
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        address = f"http://127.0.0.1:{port}"
        try:
            wait_for(f"{address}/api?token={TOKEN}", process, log)
            yield address
        finally:
            process.terminate()
            process.wait()


def wait_for(address: str, process: subprocess.Popen, log: Path) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            urllib.request.urlopen(address).close()
        except (urllib.error.URLError, ConnectionError):
            assert process.poll() is None, log.read_text()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
