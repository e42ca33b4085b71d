"""The project's files are consistent, and refer to no local paths."""

import json
import re
import runpy
import tomllib
from importlib.metadata import distributions, version
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import dsim.tooling.doctor
from dsim._version import __version__
from dsim.tooling.demo import DEMO

ROOT = Path(__file__).parents[2]


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_one_version_everywhere():
    npm = dsim.tooling.doctor.npm_version(__version__)
    package = json.loads((ROOT / "extension" / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "extension" / "package-lock.json").read_text(encoding="utf-8"))
    assert version("dsim") == __version__, "run `make setup`"
    assert [package["version"], lock["version"], lock["packages"][""]["version"]] == [npm] * 3


def test_constraints_are_names_and_versions_only():
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line) for line in pins())
    assert len({canonicalize_name(line.partition("==")[0]) for line in pins()}) == len(pins())


def test_constraints_pin_all_that_is_asked_for():
    pinned = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in pins()}
    table = project()
    extras = table["project"]["optional-dependencies"]
    asked = [*table["build-system"]["requires"], *table["project"]["dependencies"]]
    asked += [text for name, extra in extras.items() if name != "torch" for text in extra]
    for requirement in map(Requirement, asked):
        if requirement.name != "dsim":
            assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement


def test_lock_file_names_no_registry():
    lock = json.loads((ROOT / "extension" / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert [name for name, entry in packages.items() if "integrity" not in entry] == []


def test_the_demo_and_the_lessons_are_shipped():
    shipped = project()["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    notebooks = {source: target for source, target in shipped.items() if source.startswith("notebooks")}
    paths = [*(f"notebooks/{name}.ipynb" for name in DEMO), "notebooks/course/source/lessons"]
    assert notebooks == {path: f"share/dsim/{path}" for path in paths}, "the notebooks, and no tests"


@pytest.mark.parametrize("python", ["3.11.2", "3.12.0", "3.13.0"])
def test_every_installed_version_takes_the_pythons_that_dsim_takes(python):
    refused = [
        f"{found.name}=={found.version} wants Python {wanted}"
        for found in distributions()
        if (wanted := found.metadata.get("Requires-Python")) and not SpecifierSet(wanted).contains(python)
    ]
    assert refused == []


def test_type_checkers_read_dsims_own_annotations():
    assert (ROOT / "dsim" / "py.typed").is_file()


def test_the_example_of_the_readme(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "gravity.py").write_text(code)
    names = runpy.run_path(str(tmp_path / "gravity.py"))
    forces = -names["x"].grad.to_numpy()
    assert np.abs(forces).max() > 0
    np.testing.assert_allclose(forces.sum(axis=0), 0, atol=1e-5 * np.abs(forces).max())
