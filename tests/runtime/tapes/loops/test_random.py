"""Random programs in loops with checkpoints: gradients as without, bit for bit, and budgets that hold."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single, state

N = 40
STATE = 3 * 8 * N

pytestmark = pytest.mark.filterwarnings(
    "ignore:warning.reruns:dsim.DsimWarning", "ignore:warning.unreached:dsim.GradientWarning"
)


class Machine:
    """Operations on three fields, of which steps take some; a program is a list of steps."""

    def __init__(self):
        ti.init(default_fp=ti.f64, deterministic=True)
        self.fields = [ti.field(ti.f64, shape=N, needs_grad=True, name=name) for name in "qpa"]
        self.loss = single("loss")
        q, p, a, loss = *self.fields, self.loss

        @ti.kernel
        def swing(dt: float):
            for i in q:
                p[i] -= dt * ti.sin(q[i])
                q[i] += dt * p[i]

        @ti.kernel
        def more(dt: float):
            for i in q:
                a[i] = ti.sin(a[i] * q[i])
                q[i] += dt * a[i]

        @ti.kernel
        def part(low: int, high: int):
            for i in range(low, high):
                q[i] = ti.sin(q[i]) * 1.01

        @ti.kernel
        def end():
            for i in q:
                loss[None] += q[i] ** 3 + a[i]

        self.end = end
        self.operations = [
            lambda dt, box: swing(dt),
            lambda dt, box: more(dt),
            lambda dt, box: part(*box),
            lambda dt, box: p.fill(dt),
        ]

    def run(self, steps, outer=lambda tape, steps: steps, inner=lambda tape: range(2), **options):
        """The tape of a program, and what it leaves in the fields and their gradients."""
        for field, start in zip(self.fields, (np.linspace(0.5, 1.5, N), 0.25, 0.9), strict=True):
            field.from_numpy(np.full(N, start))
        with ti.Tape(self.loss, **options) as tape:
            for step in outer(tape, steps):
                for operation, dt, box, looped in step:
                    for _ in inner(tape) if looped else range(1):
                        self.operations[operation](dt, box)
            self.end()
        return tape, [array.tobytes() for array in state(*self.fields)]


def program(rng):
    """Up to sixty steps of up to three operations, some of which stand in a loop."""

    def operation():
        box = sorted(rng.integers(0, N + 1, 2).tolist())
        return int(rng.integers(4)), float(rng.uniform(0.01, 0.1)), box, rng.integers(4) == 0

    return [[operation() for _ in range(rng.integers(4))] for _ in range(rng.integers(0, 60))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    machine, steps = Machine(), program(rng)
    plain = machine.run(steps)[1]
    for known in (True, False):
        for nested in (True, False):
            slots, budget = int(rng.integers(1, 12)), int(rng.uniform(STATE // 2, 30 * STATE))
            for options in ({"slots": slots}, {"budget": budget}):
                try:
                    tape, found = machine.run(
                        steps,
                        lambda tape, s, o=options, k=known: tape.steps(s if k else iter(s), **o),
                        lambda tape, n=nested: tape.steps(range(2)) if n else range(2),
                    )
                except ti.GradientError as error:
                    assert "more than the budget" in str(error)  # noqa: PT017
                    continue
                assert found == plain
                assert "slots" in options or tape.saved_bytes <= budget
                tape.backward(1.0)
                assert [array.tobytes() for array in state(*machine.fields)] == plain
    for budget in (4 * STATE, 9 * STATE, 30 * STATE):
        try:
            tape, found = machine.run(steps, budget=budget)
        except ti.GradientError as error:
            assert "more than the" in str(error)  # noqa: PT017
            continue
        assert found == plain
        assert tape.saved_bytes <= budget


def test_a_loop_of_no_steps_within_a_budget():
    machine = Machine()
    plain = machine.run([])[1]
    for options in ({}, {"budget": 1000}):
        assert machine.run([], lambda tape, steps: tape.steps(steps), **options)[1] == plain
    assert machine.run([], lambda tape, steps: tape.steps(steps, budget=1000))[1] == plain
