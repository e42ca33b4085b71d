"""Wrong answers to lesson 3."""

from tests.course.lessons import Wrong

WRONG = [
    Wrong(
        "scatter",
        """
for i in range(len(y_bar)):
    x_bar[i] = 0.75 * y_bar[i] + 0.25 * y_bar[max(i - 1, 0)]
""",
        "this is `drift` itself",
    ),
    Wrong(
        "scatter",
        """
for i in range(len(y_bar)):
    x_bar[i] = 0.75 * y_bar[i]
    x_bar[max(i - 1, 0)] = 0.25 * y_bar[i]
""",
        "one of the shares is overwritten",
    ),
    Wrong(
        "scatter",
        """
for i in range(len(y_bar)):
    x_bar[i] += 0.75 * y_bar[i]
    x_bar[i - 1] += 0.25 * y_bar[i]
""",
        "index -1 is the last one",
    ),
    Wrong(
        "scatter",
        """
for i in range(len(y_bar)):
    x_bar[i] += 0.75 * y_bar[i]
    if i > 0:
        x_bar[i - 1] += 0.25 * y_bar[i]
""",
        "at the edge a share is missing",
    ),
    Wrong(
        "scatter",
        """
for i in range(len(y_bar)):
    x_bar[i] += 0.25 * y_bar[i]
    x_bar[max(i - 1, 0)] += 0.75 * y_bar[i]
""",
        "They must be equal for all vectors",
    ),
    Wrong("deposit", "mass[int(q[k])] += 1", "each particle gives all its mass to one point"),
    Wrong("deposit", "mass[int(q[k] + 0.5)] += 1", "each particle gives all its mass to one point"),
    Wrong(
        "deposit",
        """
j = int(q[k])
near = q[k] - j
mass[j] = 1 - near
mass[j + 1] = near
""",
        "`=` keeps the mass of the last one",
    ),
    Wrong(
        "deposit",
        """
j = int(q[k])
near = q[k] - j
mass[j] += near
mass[j + 1] += 1 - near
""",
        "the weights are exchanged",
    ),
    Wrong(
        "deposit",
        """
j = int(q[k])
mass[j] += 1 - (q[k] - j)
""",
        "the two weights must add up to 1",
    ),
]
