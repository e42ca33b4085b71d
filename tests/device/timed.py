"""Cases of the benchmark, of a size that fills a device, for a bundle."""

from __future__ import annotations

import dsim as ds
from tests.bench.cases import CASES
from tests.bench.timing import best
from tests.bench.work import work
from tests.device.bundle import Writer
from tests.device.recording import Sequence, recorded

SIZES: tuple[tuple[str, dict[str, int]], ...] = (
    ("gravity", {"bodies": 16384}),
    ("wave", {"n": 2048, "steps": 6}),
    ("wave", {"n": 256, "steps": 64}),
    ("shallow_water", {"n": 1024, "steps": 4}),
    ("fluid", {"n": 512, "steps": 2}),
    ("springs", {"side": 256, "steps": 4}),
    ("cloth", {"side": 512, "steps": 3}),
    ("sheet", {"side": 512}),
    ("mpm", {"particles": 262144, "n": 512, "steps": 4}),
    ("lennard_jones", {"side": 20}),
    ("hand_tracking", {"vertices": 131072}),
    ("bundle_adjustment", {"cameras": 245, "points": 38880, "seen": 159215}),
)


def record_timed(writer: Writer, name: str, sizes: dict[str, int], *, time: bool) -> None:
    """Adds the gradient of a case to a bundle, as one run; with how long it takes here, if `time`."""
    ds.init(default_fp=ds.f32)
    run, loss, _ = CASES[name](**sizes)
    observer = Sequence(writer, ", ".join([name, *(f"{k}={v}" for k, v in sizes.items())]))
    with recorded(writer, observer), ds.ad.Tape(loss):
        run()
    observer.finish()

    ds.init(default_fp=ds.f32)
    run, loss, _ = CASES[name](**sizes)

    def gradient() -> None:
        with ds.ad.Tape(loss):
            run()

    observer.run.moved = work(run, loss)[1].bytes
    if time:
        gradient()
        observer.run.seconds = best(gradient)
