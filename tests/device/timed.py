"""Cases of the benchmark, of a size that fills a device, for a bundle."""

from __future__ import annotations

from typing import NamedTuple

import dsim as ds
from tests.bench import cases
from tests.bench.timing import best
from tests.bench.work import work
from tests.device.bundle import Writer
from tests.device.recording import Sequence, recorded


class Timed(NamedTuple):
    """A case of the benchmark.

    Attributes
    ----------
    least : float
        See `Sequence`.
    """

    name: str
    sizes: dict[str, int]
    least: float = 0.0


CASES = (
    Timed("gravity", {"bodies": 16384}),
    Timed("wave", {"n": 2048, "steps": 6}),
    Timed("wave", {"n": 256, "steps": 64}),
    Timed("shallow_water", {"n": 1024, "steps": 4}),
    Timed("fluid", {"n": 512, "steps": 2}),
    Timed("springs", {"side": 256, "steps": 4}),
    Timed("cloth", {"side": 512, "steps": 3}),
    Timed("sheet", {"side": 512}),
    Timed("mpm", {"particles": 262144, "n": 512, "steps": 4}, least=1.0),  # 2048 times velocities that cancel
    Timed("lennard_jones", {"side": 20}),
    Timed("hand_tracking", {"vertices": 131072}),
    Timed("bundle_adjustment", {"cameras": 245, "points": 38880, "seen": 159215}),
)


def record_timed(writer: Writer, case: Timed, *, time: bool) -> None:
    """Adds the gradient of a case to a bundle, as one run; with how long it takes here, if `time`."""
    ds.init(default_fp=ds.f32)
    run, loss, _ = cases.CASES[case.name](**case.sizes)
    label = ", ".join([case.name, *(f"{k}={v}" for k, v in case.sizes.items())])
    observer = Sequence(writer, label, case.least)
    with recorded(writer, observer), ds.ad.Tape(loss):
        run()
    observer.finish()

    ds.init(default_fp=ds.f32)
    run, loss, _ = cases.CASES[case.name](**case.sizes)

    def gradient() -> None:
        with ds.ad.Tape(loss):
            run()

    observer.run.moved = work(run, loss)[1].bytes
    if time:
        gradient()
        observer.run.seconds = best(gradient)
