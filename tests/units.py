"""What tests share, and a process runs together: a file, or one of two folders."""

BROWSER, CORPUS = "tests/browser/", "tests/corpus/"


def unit(nodeid: str) -> str:
    """What the test with that identifier belongs to."""
    whole = next(filter(nodeid.startswith, (BROWSER, CORPUS)), None)
    return whole or nodeid.rsplit("::", 1)[0]
