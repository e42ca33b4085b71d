"""Every program starts anew, in f64 if it does not say otherwise."""

import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)
