"""The call site shown: the user's line, not that of a library which forwards the call."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

import dsim as ti
from dsim.diagnostics.places import caller


def test_a_context_manager_of_the_library_is_no_place():
    x, y = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    with ti.Tape(y) as tape:
        square()
    x[None] = 2.0
    with pytest.raises(ti.GradientError) as caught:
        tape.gradient(x)
    assert "tape.gradient(x)" in str(caught.value)


def test_what_runs_a_thread_or_a_task_is_no_place():
    x, y = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    async def elsewhere():
        with ti.Tape(y):
            await asyncio.to_thread(square)

    with pytest.raises(ti.GradientError, match="`square` is launched in a tape") as caught:
        asyncio.run(elsewhere())
    assert "concurrent" not in str(caught.value)


def test_the_first_line_of_a_thread_has_no_caller():
    found = []
    with ThreadPoolExecutor(1) as pool:
        found.append(pool.submit(caller).result())
    thread = threading.Thread(target=lambda run: found.append(run(caller)), args=(copy_context().run,))
    thread.start()
    thread.join()
    assert found[0] is None
    assert "found.append(run(caller))" in found[1].text
