"""Wrong answers to lesson 1."""

from tests.course.lessons import Wrong

WRONG = [
    Wrong(
        "differences", "return (f(x + 1e-5) - f(x - 1e-5)) / 1e-5", "divide by the distance of the two points"
    ),
    Wrong("differences", "return (f(x + 1e-6) - f(x)) / 1e-6", "both points are on one side of x"),
    Wrong("differences", "return (f(x + 1e-12) - f(x - 1e-12)) / 2e-12", "take a larger step"),
    Wrong("differences", "return (f(x + 0.01) - f(x - 0.01)) / 0.02", "grows as h²"),
    Wrong("differences", "return f'{(f(x + 1e-5) - f(x - 1e-5)) / 2e-5}…'", "it is to return numbers"),
    Wrong("differences", "print((f(x + 1e-5) - f(x - 1e-5)) / 2e-5)", "returns nothing"),
    Wrong(
        "carried",
        """
r = (r + a / r) / 2
r_dot = (r_dot + (a_dot * r - a * r_dot) / r**2) / 2
""",
        "`r_dot` uses the new `r`",
    ),
    Wrong(
        "carried",
        """
r_dot = (r_dot + a_dot / r) / 2
r = (r + a / r) / 2
""",
        "The quotient rule has two terms",
    ),
    Wrong(
        "carried",
        """
r_dot = (r_dot - a * r_dot / r**2) / 2
r = (r + a / r) / 2
""",
        "Its slope is 1",
    ),
    Wrong(
        "carried",
        """
r_dot = (r_dot + (a_dot * r + a * r_dot) / r**2) / 2
r = (r + a / r) / 2
""",
        "a larger divisor makes a quotient smaller",
    ),
    Wrong(
        "carried",
        """
r_dot = (r_dot + (a_dot * r - a * r_dot) / r**2) / 2
r = r + a / r / 2
""",
        "the root itself has changed",
    ),
    Wrong("cubes", "total[None] += 3 * x[i] ** 2", "Which function has the slope 3 x²?"),
    Wrong("cubes", "total[None] = x[i] ** 3", "`=` keeps the last term alone"),
    Wrong(
        "cubes",
        "total[None] += x[i] ** 3 / 3",
        "at x[3] = 1.9 the gradient is 3.6100, and it should be 10.83",
    ),
    Wrong("cubes", "if i < 3:\n    total[None] += x[i] ** 3", "at x[3] = 1.9 the gradient is 0.0000"),
]
