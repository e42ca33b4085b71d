"""Programs beyond the compiler's limits are refused with a place; none raises an internal error."""

from __future__ import annotations

import importlib.util

import pytest

from tests.frontend.dialect import f, refused, ti

BIG = 10**12


def tower():
    a = 9**9**9


def static_tower():
    a = ti.static(9**9**9)


def shifted():
    a = 1 << BIG


def powers():
    a = 3**BIG


def call_of_pow():
    a = ti.static(pow(9, 9**9))


def repeated():
    for i in ti.static([0] * 10**11):
        pass


@pytest.mark.parametrize("kernel", [tower, static_tower, shifted, powers, call_of_pow])
def test_numbers_that_would_fill_the_memory(kernel) -> None:
    said = refused(kernel)
    assert "limit: this number would have more than 4096 bits" in said
    assert "help: compute it in floats" in said


def test_a_list_that_would_fill_the_memory() -> None:
    assert "limit: this list would have 100000000000 items" in refused(repeated)


def test_large_numbers_on_the_way_are_exact() -> None:
    x = f(1)

    def k():
        x[0] = (1 << 300) >> 298

    from tests.frontend.dialect import run

    run(k)
    assert x.values[0] == 4.0


def test_a_number_too_large_is_told_by_its_size() -> None:
    x = f(1)

    def k(a: float):
        x[0] = a * 10**400

    said = refused(k)
    assert "this integer of 1329 bits is too large for an integer of 64 bits" in said
    assert len(said) < 300


def chain(tmp_path, cases: int):
    """A kernel's function with a chain of so many cases."""
    branches = "".join(f"    elif n == {i}:\n        v = {i}.5\n" for i in range(1, cases))
    text = f"def k(n: int):\n    v = 0.0\n    if n == 0:\n        v = 0.5\n{branches}    x[0] = v\n"
    path = tmp_path / f"chain_{cases}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.x = f(1)
    return module.k


@pytest.mark.slow
@pytest.mark.parametrize("cases", [250, 2000])
def test_chains_of_branches_are_limited(tmp_path, cases) -> None:
    said = refused(chain(tmp_path, cases))
    assert said.startswith("limit: branches and loops are nested more than 200 deep")
    assert "help: halve a long chain" in said
    assert said.count("limit") == 1


def test_a_chain_of_150_cases_is_lowered(tmp_path) -> None:
    from tests.frontend.dialect import lowered

    assert lowered(chain(tmp_path, 150))
