"""Registries: objects as long as they live, in the order in which they were added."""

from dsim.runtime.state.registry import Registry
from tests.garbage import called_where_it_goes


class Item:
    pass


def test_it_keeps_none_alive():
    registry, one, two = Registry(), Item(), Item()
    registry.add(one)
    registry.add(two)
    registry.add(one)
    assert list(registry) == [one, two]
    assert len(registry) == 2
    del one
    assert list(registry) == [two]
    registry.discard(two)
    registry.discard(two)
    assert not registry


def test_nothing_of_pythons_runs_where_an_object_goes():
    """There Ctrl-C would be lost."""
    registry = Registry()
    items = [Item() for _ in range(3)]
    for item in items:
        registry.add(item)
    del item
    assert called_where_it_goes(items) == []
    assert list(registry) == []
    assert len(registry) == 0


def test_many_that_go_are_not_kept():
    registry = Registry()
    for _ in range(100):
        registry.add(Item())
    assert registry.references() == []
    kept = [Item() for _ in range(3)]
    for item in kept:
        registry.add(item)
    assert len(registry) == len(registry.references()) == 3
