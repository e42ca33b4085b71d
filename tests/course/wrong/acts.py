"""Wrong answers to lesson 8."""

from tests.course.lessons import Wrong

WRONG = [
    Wrong(
        "attempt",
        """
push = 2 * (w[0] * angle + w[1] * speed)
speed += dt * (ds.sin(angle) + push)
angle += dt * speed
cost[None] += dt / count * (angle**2 + 0.1 * speed**2 + 0.01 * push**2)
""",
        "the push has no limit",
    ),
    Wrong(
        "attempt",
        """
push = 2 * ds.tanh(w[0] * angle + w[1] * speed)
speed += dt * (-ds.sin(angle) + push)
angle += dt * speed
cost[None] += dt / count * (angle**2 + 0.1 * speed**2 + 0.01 * push**2)
""",
        "this pole hangs",
    ),
    Wrong(
        "attempt",
        """
push = 2 * ds.tanh(w[0] * angle + w[1] * speed)
cost[None] += dt / count * (angle**2 + 0.1 * speed**2 + 0.01 * push**2)
speed += dt * (ds.sin(angle) + push)
angle += dt * speed
""",
        "add it after the angle has moved",
    ),
    Wrong(
        "attempt",
        """
push = 2 * ds.tanh(w[0] * angle + w[1] * speed)
speed += dt * (ds.sin(angle) + push)
angle += dt * speed
cost[None] += dt * (angle**2 + 0.1 * speed**2 + 0.01 * push**2)
""",
        "divide by `count`",
    ),
    Wrong(
        "attempt",
        """
push = 2 * ds.tanh(w[0] * angle + w[1] * speed)
speed += dt * (ds.sin(angle) + push)
angle += dt * speed
cost[None] = dt / count * (angle**2 + 0.1 * speed**2 + 0.01 * push**2)
""",
        "does `=` overwrite",
    ),
    Wrong(
        "train",
        """
ds.optimize(
    attempt, wrt=w, loss=cost, method="descent", rate=1e-5, steps=5, progress=False, background=False
)
""",
        "the pushes are too weak",
    ),
    Wrong(
        "train",
        """
ds.optimize(
    attempt, wrt=w, loss=cost, method="descent", rate=1e-3, steps=5, progress=False, background=False
)
""",
        "The search has ended too early",
    ),
    Wrong(
        "train",
        """
ds.optimize(
    attempt, wrt=w, loss=cost, free=np.array([True, False]), progress=False, background=False
)
""",
        "cannot slow it down",
    ),
    Wrong(
        "train",
        """
starts.fill(0.0)
ds.optimize(attempt, wrt=w, loss=cost, progress=False, background=False)
starts.from_numpy(np.linspace(-1.0, 1.0, count))
""",
        "A pole that begins upright never needs a push",
    ),
    Wrong("train", "w.from_numpy(np.array([5.0, 1.0]))", "in the direction in which it falls"),
]
