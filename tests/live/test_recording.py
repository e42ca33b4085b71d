"""Frames that are kept, within a budget."""

import pytest

import dsim as ds
from dsim.live.recording import FrameRecording
from dsim.live.scene import ViewFrame


def frame(size):
    return ViewFrame({}, bytes(size))  # a header of 2 bytes


def test_frames_in_order():
    recording = FrameRecording(1000)
    kept = [frame(10), frame(20)]
    for each in kept:
        recording.add(each)
    assert [recording.at(k) for k in (0, 1, 2, -1)] == [*kept, None, None]
    assert (len(recording), recording.nbytes) == (2, 34)
    recording.clear()
    assert (len(recording), recording.nbytes, recording.at(0)) == (0, 0, None)


def test_the_budget_ends_it():
    recording = FrameRecording(24)
    recording.add(frame(10))
    recording.add(frame(10))
    message = r"(?s)recording of 2 frames has 24 bytes, its budget 24.*every second step.*budget="
    with pytest.raises(ds.DsimError, match=message):
        recording.add(frame(0))
    assert len(recording) == 2
