"""Names that resemble a wrong one."""

from dsim.diagnostics.similar import similar


def test_the_most_similar_name_is_found() -> None:
    assert similar("velocty", ["position", "velocity", "velocities"]) == "velocity"


def test_nothing_is_found_where_nothing_is_similar() -> None:
    assert similar("x", []) is None
    assert similar("pressure", ["u", "v"]) is None
