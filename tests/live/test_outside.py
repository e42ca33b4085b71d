"""What frames cost outside of the process is measured, and only where it is taken from the simulation."""

import time

import pytest

from dsim.live.outside import Outside, Processors, processors


class Machine:
    """Two processors; a simulation of this process takes what `others` and `idle` leave."""

    def __init__(self, others=0.0, idle=0.0):
        self.others, self.idle = others, idle  # processors' worth of work
        self.now, self.told = 0.0, Processors(0.0, 0.0, 0.0)

    def clock(self):
        return self.now

    def passes(self, seconds):
        busy = (2 - self.idle) * seconds
        then, own = self.told, busy - self.others * seconds
        self.now += seconds
        self.told = Processors(then.busy + busy, then.idle + self.idle * seconds, then.own + own)


def measured(machine, seconds=5.0, per_second=10):
    outside = Outside(machine.clock, lambda: machine.told)
    for _ in range(int(seconds * per_second)):
        outside.frame()
        machine.passes(1 / per_second)
    return outside


def test_work_of_others_is_divided_by_the_frames():
    # A tenth of a processor, in ten frames a second.
    assert measured(Machine(others=0.1)).seconds == pytest.approx(0.01, rel=1e-3)
    assert measured(Machine(others=0.1), per_second=20).seconds == pytest.approx(0.005, rel=1e-3)


def test_what_idle_processors_do_costs_nothing():
    assert measured(Machine(others=0.1, idle=1.0)).seconds == 0
    assert measured(Machine(others=0.1, idle=0.5)).seconds == pytest.approx(0.005, rel=1e-3)


def test_other_programs_delay_no_frame_for_long():
    assert measured(Machine(others=1.9)).seconds == pytest.approx(0.03, rel=1e-3)


def test_a_browser_elsewhere_costs_nothing():
    assert measured(Machine()).seconds == 0


def test_a_pause_between_two_cells_tells_nothing():
    machine = Machine(others=1.5)
    outside = Outside(machine.clock, lambda: machine.told)
    outside.frame()
    machine.passes(60)
    outside.frame()
    assert outside.seconds == 0


def test_the_machine_counts_this_process_and_all_together():
    then = processors()
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    now = processors()
    assert now.own - then.own >= 0.1
    assert now.busy - then.busy >= 0.05  # the system counts in ticks
    assert now.idle >= then.idle
