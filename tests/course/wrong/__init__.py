"""Typical wrong answers by lesson, each with a part of the sentence that it is refused with."""

from tests.course.lessons import Wrong
from tests.course.wrong import acts, backwards, fits, lies, loops, places, slopes, times

WRONG: dict[str, list[Wrong]] = {
    "1_slopes": slopes.WRONG,
    "2_backwards": backwards.WRONG,
    "3_loops": loops.WRONG,
    "4_in_place": places.WRONG,
    "5_time": times.WRONG,
    "6_lies": lies.WRONG,
    "7_parameters": fits.WRONG,
    "8_controller": acts.WRONG,
}
