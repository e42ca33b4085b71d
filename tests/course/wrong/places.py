"""Wrong answers to lesson 4."""

from tests.course.lessons import Wrong

WRONG = [
    Wrong("rows", "rows[t, i] = 3.2 * rows[t, i] * (1 - rows[t, i])", "row 0 has changed"),
    Wrong("rows", "rows[t + 1, i] = 3.2 * rows[0, i] * (1 - rows[0, i])", "each is computed from row 0"),
    Wrong(
        "rows",
        "rows[t + 1, i] += 3.2 * rows[t, i] * (1 - rows[t, i])",
        "write with `=`",
    ),
    Wrong(
        "rows",
        """
rows[t, i] = max(rows[t, i], 0.0)
rows[t + 1, i] = 3.2 * rows[t, i] * (1 - rows[t, i])
""",
        "has still saved",
    ),
    Wrong("rows", "rows[t + 1, i] = 3.2 * rows[t, i] * (1 - rows[t + 1, i])", "Read only from row `t`"),
    Wrong("rows", "rows[t + 1, i] = 3.2 * rows[t, i]", "in place it was"),
    Wrong(
        "again",
        """
add_mean()
add_spread()
""",
        "Set it to 0 first",
    ),
    Wrong(
        "again",
        """
mean[None] = p.to_numpy().mean()
add_spread()
""",
        "is a constant to a tape",
    ),
    Wrong(
        "again",
        """
add_spread()
mean[None] = 0.0
add_mean()
""",
        "before `add_spread`",
    ),
    Wrong(
        "again",
        """
mean[None] = 0.0
add_mean()
add_mean()
add_spread()
""",
        "is the mean added up once?",
    ),
]
