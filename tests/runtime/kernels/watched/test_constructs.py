"""The gradient shown at a line equals the effect of perturbing the value that it assigns once.

Lines of all kinds: parts of structs and matrices, several targets, f32, static loops, funcs that change what
they are given. The disturbed program is another text, and is not watched.
"""

import linecache
import re

import numpy as np
import pytest

from dsim.runtime.kernels.watching import watch

HEAD = """
import dsim as ti

ti.init(default_fp=ti.f64)
Ball = ti.types.struct(mass=ti.f64, at=ti.types.vector(2, ti.f64))
b = Ball.field(shape=3, needs_grad=True)
x = ti.field(ti.f64, shape=3, needs_grad=True)
f = ti.field(ti.f32, shape=3, needs_grad=True)
m = ti.Matrix.field(2, 2, ti.f64, shape=3, needs_grad=True)
loss = ti.field(ti.f64, shape=(), needs_grad=True)
eps = ti.field(ti.f64, shape=())


@ti.func
def into(a: ti.template(), v):
    a += v * v


@ti.func
def pair(a, c):
    return a * c, a + c


@ti.kernel
"""

KERNEL = """def k():
    for i in x:
        b[i].mass = x[i] * 2.0
        b[i].at = ti.Vector([x[i], b[i].mass])
        ball = b[i]
        ball.mass += 1.0
        ball.at[0] *= 3.0
        ball.at.y = ball.at.x * 2.0
        c = d = x[i] * ball.mass
        p, q = pair(c, d)
        (e := p * q)
        into(e, x[i])
        g: ti.f64 = e * 2.0
        h = f[i] * f[i]
        w = m[i]
        w[:, 0] = ti.Vector([g, h])
        w[1, 1] = 4.0
        w *= 2.0
        m[i] = w @ w
        v = ti.Vector([1.0, 2.0]) * e
        v += ti.Vector([x[i], 3.0])
        n = ti.Vector([0.0, 0.0])
        n.xy = v.yx
        z = 0.0
        for j in ti.static(range(3)):
            z += v[0] * j
        f[i] = z
        r = min(z, n.norm())
        if r > 0.0:
            y = r
        else:
            y = -r
        o = y if x[i] > 0.1 else r
        ball.at += ti.Vector([o, y])
        loss[None] += y + f[i] + m[i].trace() + b[i].at.sum() + ball.at.sum() * n.sum() * o
"""

STEP = 1e-4  # numbers that go through an f32 are rounded to 1e-7
PARTS = {"w[:, 0]": ("w[0, 0]", "w[1, 0]"), "n.xy": ("n.x", "n.y")}


def built(kernel):
    text = HEAD + kernel
    name = f"<{hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"__name__": name}
    exec(compile(text, name, "exec"), space)
    return space


def begin(space, eps=0.0):
    rng = np.random.default_rng(0)
    space["x"].from_numpy(rng.normal(size=3))
    space["f"].from_numpy(rng.normal(size=3).astype(np.float32))
    space["m"].from_numpy(rng.normal(size=(3, 2, 2)))
    space["loss"][None], space["eps"][None] = 0.0, eps


def slope(line, target):
    """The derivative by what is added to `target` behind a line, in iteration 1 and the last trip."""
    lines = KERNEL.splitlines()
    indent = re.match(" *", lines[line])[0]
    added = [f"{indent}if i == 1: {target} += eps[None]"]
    if "z +=" in lines[line]:
        added = [f"{indent}if ti.static(j == 2):", f"    {added[0]}"]
    space = built("\n".join([*lines[: line + 1], *added, *lines[line + 1 :]]))
    values = []
    for eps in (STEP, -STEP):
        begin(space, eps)
        space["k"]()
        values.append(space["loss"][None])
    return (values[0] - values[1]) / (2 * STEP)


def targets(w):
    name = w.slot.name
    if not w.slot.shape:
        return [name]
    return PARTS.get(name) or [f"{name}{list(at)}" for at in np.ndindex(w.slot.shape)]


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
@pytest.mark.slow
def test_each_line_of_a_kernel():
    space = built(KERNEL)
    begin(space)
    watching = watch(space["k"])
    watching.probe = (1,)
    with space["ti"].Tape(space["loss"]):
        watching()
    first, compared = HEAD.count("\n") + 1, 0
    for w in watching.results():
        line = w.slot.span.line - first
        if line < 0 or w.value is None or w.slot.op:
            continue
        shown = np.zeros(w.slot.shape) if w.gradient is None else w.gradient
        for target, gradient in zip(targets(w), np.ravel(shown), strict=True):
            assert slope(line, target) == pytest.approx(gradient, rel=1e-3, abs=1e-3), target
            compared += 1
    assert compared == 48
