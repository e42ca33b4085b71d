"""Tests of how residuals are kept are of the IR: what they run, to compare it, is compiled quickly."""

import pytest


@pytest.fixture(autouse=True)
def _quickly(quick_code):
    """The code that users run is tested with the backends, the corpus, the programs and the fuzzer."""
