"""Machine code equals the readable Python, before and after the passes."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.analysis.bounds import bounds
from dsim.analysis.effects import effects
from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import simplify
from tests.passes.random_programs import Program


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(400, 420))
def test_machine_code_agrees_with_the_reference(seed: int) -> None:
    program = Program(seed)
    expected = program.buffers()
    returned = run(program.kernel, expected, program.arguments)
    for kernel in (program.kernel, parallel(simplify(program.kernel))):
        facts = effects(kernel)
        buffers = program.buffers()
        compiled = compile_kernel(kernel, bounds(kernel, facts), facts=facts)
        got = compiled.bind({m.key: buffers[m.key] for m in kernel.memories})(*program.arguments)
        assert got == tuple(v.item() for v in returned)
        for key, values in expected.items():
            np.testing.assert_array_equal(buffers[key], values)
