"""The table of `make ptx`, and its comparison with the run before."""

from tests.ptx import table
from tests.ptx.table import Row


def by_name(*rows):
    return {row.name: row for row in rows}


BEFORE = by_name(Row("a: run, task_0", 40, 0, 16, (57, 11)), Row("a: gone, task_0", 16, 0, 0, ()))
NOW = by_name(Row("a: run, task_0", 44, 0, 16, (57, 9)), Row("b: run, task_0", 30, 8, 0, ()))


def test_the_first_run():
    assert table.table(NOW, {}).splitlines() == [
        "                registers  spills  local  hot loops",
        "a: run, task_0  44         0       16     57 9",
        "b: run, task_0  30         8       0      –",
    ]
    assert table.summary(NOW, {}) == "2 entries: at most 44 registers, 1 with spills, 1 with local memory"


def test_the_next_run_shows_what_differs():
    lines = table.table(NOW, BEFORE).splitlines()
    assert " ".join(lines[1].split()) == "a: run, task_0 44 (was 40) 0 16 57 9 (was 57 11)"
    assert lines[2].endswith("–  new")
    told = "since the last run: 1 take more of something, 1 less, 1 are new, 1 are gone"
    assert table.summary(NOW, BEFORE).splitlines()[1] == told


def test_loops_that_were_not_counted_are_no_difference():
    uncounted = by_name(Row("a: run, task_0", 40, 0, 16, None))
    assert table.table(uncounted, BEFORE).splitlines()[1].endswith("  ?")
    assert "0 take more of something, 0 less" in table.summary(uncounted, BEFORE)


def test_rows_are_kept(tmp_path):
    path = tmp_path / "build" / "sm_90.json"
    assert table.load(path) == {}
    rows = by_name(Row("a", 1, 2, 3, (4, 5)), Row("b", 1, 2, 3, None), Row("c", 1, 2, 3, ()))
    table.save(path, rows.values())
    assert table.load(path) == rows
