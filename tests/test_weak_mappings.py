"""Values as long as somebody else holds them."""

import pytest

from dsim.weak_mappings import WeakKeys, WeakValues
from tests.garbage import called_where_it_goes


class Value:
    pass


def test_entries_go_with_their_keys():
    values, one, two = WeakKeys(), Value(), Value()
    values[one], values[two] = "one", "two"
    values[one] = "first"
    assert values[one] == values.get(one) == "first"
    assert list(values.items()) == [(one, "first"), (two, "two")]
    del one
    assert dict(values) == {two: "two"}
    assert len(values) == 1
    del values[two]
    assert two not in values
    with pytest.raises(KeyError):
        values[two]
    assert dict(WeakKeys({two: 3})) == {two: 3}


def test_entries_go_with_their_values():
    values, one, two = WeakValues(), Value(), Value()
    values["one"], values["two"] = one, two
    assert values["one"] is values.get("one") is one
    assert list(values) == ["one", "two"]
    del one
    assert "one" not in values
    assert values.get("one") is None
    with pytest.raises(KeyError):
        values["one"]
    assert dict(values) == {"two": two}
    assert len(values) == 1
    assert values.living() == [two]
    del values["two"]
    assert not values


def test_a_key_that_is_set_again_keeps_its_new_value():
    values, one, two = WeakValues(), Value(), Value()
    values["a"] = one
    values["a"] = two
    del one
    values["b"] = two
    assert dict(values) == {"a": two, "b": two}


@pytest.mark.parametrize("by", ["keys", "values"])
def test_nothing_of_pythons_runs_where_one_goes(by):
    """There Ctrl-C would be lost."""
    values = WeakValues() if by == "values" else WeakKeys()
    held = [Value() for _ in range(3)]
    for n, value in enumerate(held):
        values[n if by == "values" else value] = value if by == "values" else n
    del value
    assert called_where_it_goes(held) == []
    assert len(values) == 0


def test_many_that_go_are_not_kept():
    values = WeakValues()
    for n in range(100):
        values[n] = Value()
    assert len(values._refs) <= 2
