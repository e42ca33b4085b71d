"""The handwritten reports of these tests are valid output of `dsim/notebook`."""

import json
from pathlib import Path

import jsonschema
import pytest

import dsim
from tests.browser import reports

SCHEMA = Path(dsim.__file__).parent / "notebook" / "report.schema.json"


@pytest.mark.parametrize("made", [reports.report, reports.gravity, reports.broken, reports.simulation])
def test_they_follow_the_schema(made):
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(made())
