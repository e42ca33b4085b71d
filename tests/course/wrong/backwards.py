"""Wrong answers to lesson 2."""

from tests.course.lessons import Wrong

WRONG = [
    Wrong(
        "backward",
        """
b_bar = c_bar
x_bar = 3 * c_bar
a_bar = np.cos(a) * b_bar
x_bar = y * a_bar
y_bar = x * a_bar
""",
        "Adjoints add up",
    ),
    Wrong(
        "backward",
        """
b_bar += c_bar
a_bar += np.cos(a) * b_bar
y_bar += x * a_bar
x_bar += 3 * c_bar
""",
        "the share of `a = x * y` is missing",
    ),
    Wrong(
        "backward",
        """
x_bar += y * a_bar
y_bar += x * a_bar
a_bar += np.cos(a) * b_bar
b_bar += c_bar
x_bar += 3 * c_bar
""",
        "from the last line to the first",
    ),
    Wrong(
        "backward",
        """
b_bar += c_bar
x_bar += 3 * c_bar
a_bar += np.cos(a) * b_bar
x_bar += x * a_bar
y_bar += y * a_bar
""",
        "the shares are exchanged",
    ),
    Wrong(
        "backward",
        """
b_bar += c_bar
x_bar += 3 * c_bar
a_bar += np.cos(b_bar)
x_bar += y * a_bar
y_bar += x * a_bar
""",
        "`cos` is taken of the adjoint",
    ),
    Wrong("product", "gradient[:] = np.prod(v) / v", "no derivative where that number is 0"),
    Wrong("product", "gradient[:] = np.prod(v)", "the number itself is no factor"),
    Wrong(
        "product",
        """
for i in range(1, len(v)):
    gradient[i] = gradient[i - 1] * v[i - 1]
""",
        "the factors behind each number are missing",
    ),
    Wrong(
        "product",
        """
for i in range(len(v)):
    for k in range(len(v)):
        if k != i:
            gradient[i] *= v[k]
""",
        "a loop in a loop",
    ),
    Wrong("springs", "U[None] += 0.5 * (p[i + 1] - p[i]) ** 2", "subtract the length at rest"),
    Wrong("springs", "U[None] += 0.5 * (p[i] - 0.1 * i) ** 2", "the chain pushes itself"),
    Wrong("springs", "U[None] = 0.5 * (p[i + 1] - p[i] - 0.1) ** 2", "only the last spring counts"),
    Wrong("springs", "U[None] += (p[i + 1] - p[i] - 0.1) ** 2", "the energy is twice"),
]
