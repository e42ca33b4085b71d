"""Right answers that are not those of the lessons: the checks ask for properties, and accept them."""

OTHER: dict[str, list[tuple[str, str]]] = {
    "1_slopes": [
        (
            "differences",
            """
h = 1e-3
return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)
""",
        ),
        (
            "carried",
            """
q = a / r
q_dot = (a_dot - q * r_dot) / r
r, r_dot = (r + q) / 2, (r_dot + q_dot) / 2
""",
        ),
        ("differences", "return f(x + 1e-20j).imag / 1e-20"),
        ("cubes", "total[None] += x[i] * x[i] * x[i] + 7"),
    ],
    "2_backwards": [
        (
            "backward",
            """
x_bar = 3 + y * np.cos(a)
y_bar = x * np.cos(a)
""",
        ),
        (
            "product",
            """
gradient[1:] = np.cumprod(v[:-1])
gradient[:-1] *= np.cumprod(v[:0:-1])[::-1]
""",
        ),
        (
            "springs",
            """
length = p[i + 1] - p[i]
U[None] += length**2 / 2 - length / 10 + 0.005
""",
        ),
    ],
    "3_loops": [
        (
            "scatter",
            """
x_bar += 0.75 * y_bar
x_bar[:-1] += 0.25 * y_bar[1:]
x_bar[0] += 0.25 * y_bar[0]
""",
        ),
        (
            "deposit",
            """
for j in range(16):
    mass[j] += max(0.0, 1 - abs(q[k] - j))
""",
        ),
    ],
    "4_in_place": [
        (
            "rows",
            """
before = rows[t, i]
rows[t + 1, i] = 0.8 - 3.2 * (before - 0.5) ** 2
""",
        ),
        (
            "again",
            """
mean.from_numpy(np.array(0.0))
add_mean()
add_spread()
""",
        ),
    ],
    "5_time": [
        (
            "swing",
            """
row = np.array([1.0, 0.0])
for x in xs[::-1]:
    slope = np.cos(x)
    row = row @ np.array([[1 - dt**2 * slope, dt], [-dt * slope, 1.0]])
x_bar, v_bar = row
""",
        ),
        (
            "checkpoints",
            """
def walk(state, steps):
    for _ in range(steps):
        state = step(state)
    return state


kept = {0: start}
for t in range(8, n, 8):
    kept[t] = walk(kept[t - 8], 8)
for t in sorted(kept, reverse=True):
    states = {t: kept.pop(t)}
    for k in range(t + 1, min(t + 8, n)):
        states[k] = step(states[k - 1])
    for k in sorted(states, reverse=True):
        adjoint = back(states.pop(k), adjoint)
return adjoint
""",
        ),
    ],
    "6_lies": [
        (
            "impact",
            """
x += dt * v
if x < 0:
    x = -x
    v = -v
""",
        ),
        (
            "disagreement",
            """
h, d = 1e-4, np.random.default_rng(5).choice([-1.0, 1.0], len(x)) * np.linspace(1, 2, len(x))
coarse, fine = ((f(x + s * d) - f(x - s * d)) / (2 * s) for s in (2 * h, h))
found = (4 * fine - coarse) / 3
return abs(1 - found / (gradient @ d))
""",
        ),
    ],
    "7_parameters": [
        (
            "misfit",
            """
v = v - dt * theta[1] * v - dt * theta[0] * x
x += dt * v
far = data[t] - x
loss[None] += far * far / 2
""",
        ),
        (
            "newton",
            """
damping, here = 1e-3, evaluate(theta)
for _ in range(90):
    loss, gradient, hessian = here
    if np.linalg.norm(gradient) < 1e-7:
        break
    step = np.linalg.solve(hessian + damping * np.eye(len(theta)), gradient)
    there = evaluate(theta - step)
    if there[0] < loss:
        theta, here, damping = theta - step, there, damping / 10
    else:
        damping *= 5
return theta
""",
        ),
    ],
    "8_controller": [
        (
            "attempt",
            """
push = 2 * ds.tanh(w[0] * angle + w[1] * speed)
speed += dt * ds.sin(angle) + dt * push
angle += speed * dt
cost[None] += dt * angle * angle / count
cost[None] += dt * (0.1 * speed * speed + 0.01 * push * push) / count
""",
        ),
        (
            "train",
            """
w.from_numpy(np.array([-1.0, -1.0]))
ds.optimize(
    attempt, wrt=w, loss=cost, method="Adam", rate=0.2, steps=150, progress=False, background=False
)
""",
        ),
    ],
}
