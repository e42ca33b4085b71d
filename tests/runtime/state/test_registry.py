"""Registries: objects as long as they live, in the order in which they were added."""

from dsim.runtime.state.registry import Registry


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


def test_those_that_were_added_later():
    registry, items = Registry(), [Item() for _ in range(6)]
    for item in items[:3]:
        registry.add(item)
    before = registry.added
    assert registry.newer(before) == []
    for item in items:  # half of them are there
        registry.add(item)
    assert registry.newer(before) == items[:2:-1]
    registry.discard(items[2])  # the last one before
    registry.discard(items[4])
    assert registry.newer(before) == [items[5], items[3]]
    assert registry.newer(registry.added) == []
    assert registry.newer(0) == [items[5], items[3], items[1], items[0]]
