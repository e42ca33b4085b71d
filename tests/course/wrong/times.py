"""Wrong answers to lesson 5."""

from tests.course.lessons import Wrong

WRONG = [
    Wrong(
        "swing",
        """
for x in reversed(xs):
    x_bar += -dt * np.cos(x) * v_bar
    v_bar += dt * x_bar
""",
        "in the order of the way there",
    ),
    Wrong(
        "swing",
        """
for x in xs:
    v_bar += dt * x_bar
    x_bar += -dt * np.cos(x) * v_bar
""",
        "The way back begins with the last step",
    ),
    Wrong(
        "swing",
        """
for x in reversed(xs):
    v_bar += dt * x_bar
    x_bar += dt * np.cos(x) * v_bar
""",
        "the sign of the force",
    ),
    Wrong(
        "swing",
        """
for x in reversed(xs):
    v_bar += dt * x_bar
    x_bar = -dt * np.cos(x) * v_bar
""",
        "`x_bar` is overwritten",
    ),
    Wrong(
        "swing",
        """
for x in reversed(xs):
    v_bar += dt * x_bar
    x_bar += -dt * np.sin(x) * v_bar
""",
        "Its slope is cos(x)",
    ),
    Wrong(
        "checkpoints",
        """
states = [start]
for _ in range(n - 1):
    states.append(step(states[-1]))
while states:
    adjoint = back(states.pop(), adjoint)
return adjoint
""",
        "there are 100 states, and 25 are allowed",
    ),
    Wrong(
        "checkpoints",
        """
for t in reversed(range(n)):
    state = start
    for _ in range(t):
        state = step(state)
    adjoint = back(state, adjoint)
return adjoint
""",
        "`step` runs 4,950 times",
    ),
    Wrong(
        "checkpoints",
        """
states = [start]
for _ in range(n):
    states.append(step(states[-1]))
for state in reversed(states[1:]):
    adjoint = back(state, adjoint)
return adjoint
""",
        "gets the state *after* the last step",
    ),
    Wrong(
        "checkpoints",
        """
state = start
for _ in range(n):
    adjoint = back(state, adjoint)
    state = step(state)
return adjoint
""",
        "gets the state before step 0",
    ),
    Wrong(
        "checkpoints",
        """
state, kept = start, []
for t in range(n):
    if t % 10 == 0:
        kept.append(state)
    state = step(state)
while kept:
    states = [kept.pop()]
    for _ in range(8):
        states.append(step(states[-1]))
    while states:
        adjoint = back(states.pop(), adjoint)
return adjoint
""",
        "gets the state before step 98",
    ),
    Wrong(
        "checkpoints",
        """
state, kept = start, []
for t in range(n):
    if t % 10 == 0:
        kept.append(state)
    state = step(state)
while kept:
    states = [kept.pop()]
    for _ in range(9):
        states.append(step(states[-1]))
    while len(states) > 1:
        adjoint = back(states.pop(), adjoint)
return adjoint
""",
        "at the edge of two stretches left out",
    ),
]
