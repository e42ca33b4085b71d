"""The system's Chromium: finds it; run as a program, installs it if it is missing.

    python -m tests.browser.chromium

installs it by apt-get where that is possible, and else says in one line how to install it.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Also as root in a container, and with no wish to talk to anyone.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
]
MISSING = (
    "the tests need Chromium: run `apt-get install chromium` as root, or put one on the PATH as `chromium`"
)


def find() -> str | None:
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def install() -> None:
    """Install Chromium, if this account can; whoever calls looks afterwards whether it is there."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    print("installing Chromium for the browser tests", file=sys.stderr)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        done = subprocess.run(
            ["apt-get", "--quiet", "--quiet", *command], env=quiet, capture_output=True, check=False
        )
        if done.returncode != 0:
            return


def main() -> int:
    """See to it that there is a Chromium."""
    if find() is None:
        install()
    if find() is None:
        print(MISSING, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
