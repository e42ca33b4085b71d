"""The documentation builds without a warning: links lead somewhere, and what the reference names exists."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    site = tmp_path / "site"
    options = ["--fresh-env", "--fail-on-warning", "--keep-going", "--quiet", "-D", "dsim_play=0"]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, ROOT / "docs", site],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (built.returncode, built.stderr) == (0, "")
    assert (site / "reference" / "fields.html").is_file()
    assert (site / "search.html").is_file()
