"""Frames that are kept, within a budget."""

import pytest

import dsim as ds
from dsim.live.recording import FrameRecording
from dsim.live.scene.scene import ViewFrame


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


def test_thinning_keeps_one_in_two_and_the_last():
    recording = FrameRecording(5 * 12, thinning=True)
    made = [frame(10) for _ in range(14)]
    for each in made[:5]:
        recording.add(each)
    assert ([*recording], recording.note) == (made[:5], "")
    recording.add(made[5])
    assert [*recording] == [made[0], made[2], made[4], made[5]]
    assert recording.note == "4 of 6 frames recorded: one in 2, and the last"
    for each in made[6:]:
        recording.add(each)
    assert [*recording] == [made[0], made[4], made[8], made[12], made[13]]
    assert (len(recording), recording.added, recording.stride) == (5, 14, 4)
    assert [recording.at(k) for k in (0, 3, 4, 5)] == [made[0], made[12], made[13], None]
    recording.clear()
    assert ([*recording], recording.note, recording.added) == ([], "", 0)


def test_frames_larger_than_the_budget_are_few():
    recording = FrameRecording(1, thinning=True)
    for _ in range(9):
        recording.add(frame(10))
    assert len(recording) <= 3
