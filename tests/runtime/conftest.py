"""Tests of the runtime are of launches, tapes and fields: what they compile is compiled quickly."""

import pytest


@pytest.fixture(autouse=True)
def _quickly(quick_code):
    """The code that users run is tested with the backends, the corpus, the programs and the fuzzer."""
