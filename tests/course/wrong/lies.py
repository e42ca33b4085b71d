"""Wrong answers to lesson 6."""

from tests.course.lessons import Wrong

WRONG = [
    Wrong(
        "impact",
        """
if x < 0 and v < 0:
    v = -v
x += dt * v
""",
        "the gradient is +1",
    ),
    Wrong(
        "impact",
        """
x += dt * v
if x < 0:
    x = 0.0
    v = -v
""",
        "the gradient is 0",
    ),
    Wrong(
        "impact",
        """
if x + dt * v < 0:
    v = -v
    x = dt * v
else:
    x += dt * v
""",
        "the gradient is 0",
    ),
    Wrong(
        "impact",
        """
if x + dt * v < 0:
    impact = x / v
    v = -v
    x = (dt - impact) * v
else:
    x += dt * v
""",
        "a time is not",
    ),
    Wrong(
        "impact",
        """
if x + dt * v < 0:
    impact = -x / v
    v = -v
    x += impact * v
else:
    x += dt * v
""",
        "The ball flies for `impact` with the old speed",
    ),
    Wrong("impact", "x += dt * v", "through the wall"),
    Wrong(
        "disagreement",
        """
h, d = 1e-5, np.ones(len(x))
by_differences = (f(x + h * d) - f(x - h * d)) / (2 * h)
by_gradient = gradient @ d
return abs(by_differences - by_gradient) / max(abs(by_differences), abs(by_gradient))
""",
        "two numbers of the gradient are exchanged",
    ),
    Wrong(
        "disagreement",
        """
h, d = 1e-5, np.eye(len(x))[0]
by_differences = (f(x + h * d) - f(x - h * d)) / (2 * h)
by_gradient = gradient @ d
return abs(by_differences - by_gradient) / max(abs(by_differences), abs(by_gradient))
""",
        "the direction needs a part in each",
    ),
    Wrong(
        "disagreement",
        """
h, found = 1e-5, np.zeros(len(x))
for i in range(len(x)):
    d = np.zeros(len(x))
    d[i] = h
    found[i] = (f(x + d) - f(x - d)) / (2 * h)
return np.abs(found - gradient).max() / np.abs(gradient).max()
""",
        "ask along one direction",
    ),
    Wrong(
        "disagreement",
        """
h, d = 1e-5, np.random.default_rng(2).standard_normal(len(x))
return abs((f(x + h * d) - f(x - h * d)) / (2 * h) - gradient @ d)
""",
        "Divide by the size of what you compare",
    ),
    Wrong(
        "disagreement",
        """
h, d = 1e-3, np.random.default_rng(1).standard_normal(len(x))
by_differences = (f(x + h * d) - f(x)) / h
by_gradient = gradient @ d
return abs(by_differences - by_gradient) / max(abs(by_differences), abs(by_gradient))
""",
        "The differences are not exact enough",
    ),
]
