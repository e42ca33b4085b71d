"""Measures the live half in JupyterLab on this machine: ``python -m tests.bench.live``.

The browser has no GPU here: it draws on the processor, beside the simulation. So all figures are those of the
worst machine that a person may have.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from nbformat import v4
from playwright.sync_api import sync_playwright

import dsim as ds
from tests.browser import chromium
from tests.browser.server import START_SECONDS, TOKEN, serve
from tests.browser.views import WINDOW, Lab

SECONDS = 6
MOVES = 120

# Counts what the pictures draw, and when.
COUNT = """() => {
    window.draws = [];
    const count = (context, name) => {
        const clear = context.prototype[name];
        context.prototype[name] = function (...rest) {
            if (this.canvas.closest('.dsim-view-stage') !== null) {
                window.draws.push(performance.now());
            }
            return clear.apply(this, rest);
        };
    };
    count(WebGL2RenderingContext, 'clear');
    count(CanvasRenderingContext2D, 'clearRect');
}"""
# From a key to the first picture whose text has changed, in milliseconds.
MOVE = """async ([key, shown]) => {
    const handle = document.querySelector('.jp-Notebook .noUi-handle');
    const text = document.querySelector('.jp-Notebook .dsim-view-text');
    const before = text.textContent;
    window.draws.length = 0;
    const began = performance.now();
    handle.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    while (text.textContent === before) {
        if (performance.now() - began > 3000) {
            return null;
        }
        await new Promise(requestAnimationFrame);
    }
    await new Promise(requestAnimationFrame);
    return window.draws.at(-1) - began;
}"""

PARTICLES = """\
import time
import numpy as np
import dsim as ds

x = ds.Vector.field(2, ds.f32, shape=20_000, name="x")
x.from_numpy(np.random.default_rng(0).random((20_000, 2), dtype=np.float32))

@ds.kernel
def step():
    for i in x:
        d = x[i] - ds.Vector([0.5, 0.5])
        x[i] += 0.01 * ds.Vector([-d[1], d[0]])

view = ds.view(x, bounds=[(0, 1), (0, 1)])
view"""
GRID = """\
import time
import numpy as np
import dsim as ds

u, v = (ds.field(ds.f32, shape=(256, 256), name=name) for name in "uv")
u.from_numpy(np.exp(-((np.mgrid[:256, :256] - 128) ** 2).sum(0) / 200).astype(np.float32))

@ds.kernel
def step():
    for i, j in ds.ndrange((1, 255), (1, 255)):
        v[i, j] += 0.2 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4 * u[i, j])
    for i, j in u:
        u[i, j] += v[i, j]

view = ds.view(u, limits=(-0.2, 0.2))
view"""
LOOP = f"""\
until, k = time.perf_counter() + {SECONDS}, 0
while time.perf_counter() < until:
    step()
    view.update(k)
    k += 1
    time.sleep(0.005)"""

GRAVITY = """\
import numpy as np
import dsim as ds

ds.init(default_fp=ds.f64)
N = 64
x = ds.Vector.field(2, ds.f64, shape=N, needs_grad=True, name="x")
m = ds.field(ds.f64, shape=(), needs_grad=True, name="m")
U = ds.field(ds.f64, shape=(), needs_grad=True, name="U")
x.from_numpy(np.random.default_rng(0).random((N, 2)))
m[None] = 1.0

@ds.kernel
def energy():
    for i, j in ds.ndrange(N, N):
        U[None] += -m[None] / (x[i] - x[j]).norm(1e-3)

seen = ds.explore(energy, wrt=x, loss=U, controls={m: (0, 200, 1)})
seen"""

# The kernel's threads on a core of their own: what remains is what the view costs the program itself. The
# browser's threads that draw choose their cores themselves, so they are put back on the other one.
ALONE = """\
import os
from pathlib import Path

def place(process, core):
    for thread in process.glob("task/*"):
        os.sched_setaffinity(int(thread.name), {core})

def apart():
    place(Path("/proc/self"), 0)
    for comm in Path("/proc").glob("[0-9]*/comm"):
        if "chrom" in comm.read_text():
            place(comm.parent, 1)

"""
TOGETHER = """\
def apart():
    pass

"""
# A simulation with and without a picture by turns.
SLOWED = """\
def steps(seconds, shown):
    began, k = time.perf_counter(), 0
    while time.perf_counter() < began + seconds:
        for _ in range(20):
            step()
        if shown:
            view.update(k)
        k += 20
    return k / (time.perf_counter() - began)

steps(1, False)
apart()
pairs = [(steps(1, False), steps(1, True)) for _ in range(16)]
plain, seen = np.array(pairs).T
print("slowed", float(np.median(plain / seen)), "steps/s", float(np.median(plain)))"""


@contextlib.contextmanager
def lab() -> Iterator[Lab]:
    """JupyterLab in a browser without a window."""
    path = chromium.find()
    if path is None:
        sys.exit(chromium.MISSING)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = stack.enter_context(serve(folder, home))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=path, args=chromium.FLAGS)
        page = browser.new_page(viewport=WINDOW)
        page.goto(f"{address}/lab?token={TOKEN}&reset")
        page.wait_for_function("window.jupyterapp?.restored", timeout=START_SECONDS * 1000)
        page.evaluate("window.jupyterapp.restored.then(() => null)")
        page.evaluate(COUNT)
        yield Lab(page, folder, folder)
        browser.close()


def opened(view: Lab, *sources: str) -> None:
    view.open(*(v4.new_code_cell(source) for source in sources), kernel=True)


def frames(view: Lab, setup: str) -> float:
    """Pictures drawn per second while a loop runs."""
    opened(view, setup, LOOP)
    view.start_all()
    text = view.cell(0).locator(".dsim-view-text")
    text.filter(has_text="step").wait_for(timeout=START_SECONDS * 1000)
    view.page.wait_for_timeout(1000)
    view.page.evaluate("() => { window.draws.length = 0; }")
    view.page.wait_for_timeout(3000)
    times = view.page.evaluate("() => window.draws")
    view.close()
    return (len(times) - 1) / (times[-1] - times[0]) * 1000


def latency(view: Lab) -> list[float]:
    """Milliseconds from a key at a slider to the picture, gradient included."""
    opened(view, GRAVITY)
    view.run_all()
    view.cell(0).locator(".noUi-handle").first.focus()
    took = []
    for move in range(MOVES):
        found = view.page.evaluate(MOVE, ["ArrowRight" if move % 4 else "ArrowLeft", None])
        assert found is not None, "a slider moved, and no picture followed"
        took.append(found)
        view.page.wait_for_timeout(50)
    view.close()
    return took


def slowed(view: Lab, setup: str, first: str = TOGETHER) -> str:
    """What a simulation takes while it is viewed, over what it takes alone."""
    opened(view, first + setup, SLOWED)
    view.run_all()
    said = view.cell(1).locator(".jp-OutputArea-output").inner_text()
    view.close()
    return said.strip()


def size_of_a_page() -> tuple[int, int, float]:
    """A page of 300 frames of 20,000 random walks: bytes, frames kept, seconds of writing."""
    random = np.random.default_rng(0)
    x = random.random((20_000, 2), dtype=np.float32)
    picture: Any = ds.view(lambda: x, bounds=[(0, 1), (0, 1)])
    for _ in range(300):
        x[:] = (x + 0.002 * random.standard_normal(x.shape)).clip(0, 1)
        picture.record()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        began = time.perf_counter()
        picture.save(path)
        took = time.perf_counter() - began
        text = path.read_text()
    return len(text), text.count('"header"'), took


def main() -> int:
    with lab() as view:
        for name, setup in (("20,000 particles", PARTICLES), ("256 x 256 grid", GRID)):
            print(f"{name}: {frames(view, setup):.1f} frames a second", flush=True)
        took = np.array(latency(view))
        half, most = np.percentile(took, [50, 95])
        print(
            f"slider to picture, 64 bodies: median {half:.0f} ms, 95th percentile {most:.0f} ms", flush=True
        )
        for name, setup in (("20,000 particles", PARTICLES), ("256 x 256 grid", GRID)):
            print(f"{name}, viewed: {slowed(view, setup)}", flush=True)
    os.sched_setaffinity(0, {1})  # the browser and the server, which this process starts
    with lab() as view:
        for name, setup in (("20,000 particles", PARTICLES), ("256 x 256 grid", GRID)):
            print(f"{name}, viewed, the browser on another core: {slowed(view, setup, ALONE)}", flush=True)
    size, kept, seconds = size_of_a_page()
    print(f"a page of 300 x 20,000: {size / 1e6:.1f} MB, {kept} frames, written in {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
