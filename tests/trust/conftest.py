"""Every program starts from a reset, with f64 unless it sets another type."""

import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)
