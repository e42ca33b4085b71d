"""The system's Chromium: finds it; run as a program, installs it if it is missing.

The headless shell comes first: the same engine without windows and what belongs to them, which takes a fifth
less of the processor for these tests.

    python -m tests.browser.chromium

installs it by apt-get where that is possible, and else says in one line how to install it.
"""

import os
import shutil
import subprocess
import sys

NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
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
    "the tests need Chromium: run `apt-get install chromium-headless-shell` or `apt-get install chromium` as "
    "root, or put one on the PATH as `chromium`"
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
    _apt(quiet, "update")
    for package in ("chromium-headless-shell", "chromium"):  # older systems have no package of the shell
        if _apt(quiet, "install", "--yes", "--no-install-recommends", package):
            return


def _apt(environment: dict[str, str], *command: str) -> bool:
    """Run apt-get; whether that succeeded."""
    words = ["apt-get", "--quiet", "--quiet", *command]
    return subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0


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
