"""Tests of operations are of what tapes and transforms make of them: kernels around are compiled quickly."""

import pytest


@pytest.fixture(autouse=True)
def _quickly(quick_code):
    """The code that users run is tested with the backends, the corpus, the programs and the fuzzer."""
