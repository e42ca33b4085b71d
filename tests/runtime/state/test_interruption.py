"""What Ctrl-C does not leave half done."""

import pytest

from dsim.runtime.state.interruption import undisturbed


def test_acts_are_done_in_order():
    done = []
    undisturbed([lambda: done.append(1), lambda: done.append(2)])
    undisturbed([])
    assert done == [1, 2]


def test_ctrl_c_is_raised_when_all_are_done():
    done, came = [], [KeyboardInterrupt("first"), KeyboardInterrupt("second")]

    def stopped():
        done.append("stopped")
        if came:
            raise came.pop(0)

    with pytest.raises(KeyboardInterrupt, match="second"):
        undisturbed([lambda: done.append(1), stopped, lambda: done.append(3)])
    assert done == [1, "stopped", "stopped", "stopped", 3]


def test_an_error_is_raised_at_once():
    done = []
    with pytest.raises(ZeroDivisionError):
        undisturbed([lambda: 1 / 0, lambda: done.append(1)])
    assert done == []
