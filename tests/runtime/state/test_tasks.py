"""Asyncio tasks, generators, and threads that inherit context variables: which tapes record what."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import dsim as ti
from tests.runtime.threading_together import aside


def _program() -> SimpleNamespace:
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def first():
        y[None] = x[None] ** 2

    @ti.kernel
    def second():
        loss[None] += 3.0 * y[None]

    return SimpleNamespace(x=x, y=y, loss=loss, first=first, second=second)


async def _taped(p: Any, value: float) -> float:
    """A tape that is open while other tasks run, and a gradient that is read after they ran again."""
    p.x[None] = value
    with ti.ad.Tape(p.loss) as tape:
        p.first()
        await asyncio.sleep(0)
        p.second()
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(tape.calls) == 2
    return p.x.grad[None]


def test_tapes_of_several_tasks() -> None:
    async def all_of_them() -> list[float]:
        programs = [_program() for _ in range(3)]
        found = await asyncio.gather(*(_taped(p, float(n)) for n, p in enumerate(programs)))
        assert [p.x.grad[None] for p in programs] == found
        return found

    assert asyncio.run(all_of_them()) == [0.0, 6.0, 12.0]


def test_forward_modes_of_several_tasks() -> None:
    async def forward(p: Any, value: float) -> float:
        p.x[None] = value
        with ti.ad.FwdMode(loss=p.loss, param=p.x):
            p.first()
            await asyncio.sleep(0)
            p.second()
        await asyncio.sleep(0)
        return p.loss.dual[None]

    async def both() -> list[float]:
        return await asyncio.gather(*(forward(_program(), float(n)) for n in range(3)))

    assert asyncio.run(both()) == [0.0, 6.0, 12.0]


def test_a_tape_sees_nothing_of_another_task() -> None:
    p = _program()
    p.x[None] = 1.0

    async def other() -> None:
        p.first()

    async def main() -> None:
        task = asyncio.create_task(other())
        with ti.ad.Tape(p.loss) as tape:
            await task
            p.first()
            p.second()
        assert len(tape.calls) == 2

    asyncio.run(main())
    assert p.x.grad[None] == 6.0


def test_a_tape_sees_tasks_that_begin_inside_it() -> None:
    p = _program()
    p.x[None] = 1.0

    async def call(kernel: Any) -> None:
        kernel()

    async def main() -> None:
        with ti.ad.Tape(p.loss) as tape:
            await asyncio.create_task(call(p.first))
            await asyncio.create_task(call(p.second))
        assert len(tape.calls) == 2

    asyncio.run(main())


def test_a_task_that_outlives_the_tape_in_which_it_began() -> None:
    p = _program()
    p.x[None] = 1.0

    async def later(over: asyncio.Event) -> float:
        await over.wait()
        p.first()
        p.second()
        p.y[None] = 7.0
        assert p.y[None] == 7.0
        with ti.ad.Tape(p.loss):
            p.first()
            p.second()
        return p.x.grad[None]

    async def main() -> float:
        over = asyncio.Event()
        with ti.ad.Tape(p.loss) as tape:
            task = asyncio.create_task(later(over))
            p.first()
            p.second()
            await asyncio.sleep(0)
        over.set()
        found = await task
        assert len(tape.calls) == 2
        return found

    assert asyncio.run(main()) == 6.0


def test_a_tape_that_outlives_the_one_in_which_its_task_began_is_refused() -> None:
    p, q = _program(), _program()

    async def taped(over: asyncio.Event) -> None:
        with ti.ad.Tape(q.loss):
            q.first()
            await over.wait()
            q.second()

    async def inside(over: asyncio.Event) -> None:
        with pytest.raises(ti.GradientError, match="around this one ended first"):
            await taped(over)
        with ti.ad.Tape(q.loss):  # nothing is left of it
            q.first()
            q.second()

    async def main() -> None:
        over = asyncio.Event()
        with ti.ad.Tape(p.loss):
            task = asyncio.create_task(inside(over))
            p.first()
            p.second()
            await asyncio.sleep(0)
        over.set()
        await task

    asyncio.run(main())


def test_one_field_in_the_tapes_of_two_tasks_is_refused() -> None:
    p = _program()

    async def both() -> list[Any]:
        return await asyncio.gather(_taped(p, 1.0), _taped(p, 2.0), return_exceptions=True)

    first, second = asyncio.run(both())
    assert first == 12.0  # of the value that the other task wrote before
    assert isinstance(second, ti.GradientError)
    assert "open in another thread or task" in str(second)


def test_a_launch_from_another_thread_in_a_tape_is_refused() -> None:
    p = _program()
    p.x[None] = 1.0
    with ti.ad.Tape(p.loss) as tape:
        p.first()
        inherited = contextvars.copy_context()
        with pytest.raises(
            ti.GradientError, match="`second` is launched in a tape or forward mode of another"
        ):
            aside(lambda: inherited.run(p.second))
        with pytest.raises(ti.GradientError, match="records its own thread only"):
            aside(lambda: inherited.run(ti.ad.Tape(p.loss).__enter__))
        p.second()
    assert len(tape.calls) == 2
    assert p.x.grad[None] == 6.0


def test_a_thread_with_the_context_variables_of_another_has_gradients_of_its_own() -> None:
    async def work(p: Any, value: float) -> float:
        def taped() -> float:
            p.x[None] = value
            with ti.ad.Tape(p.loss):
                p.first()
                p.second()
            return p.x.grad[None]

        return await asyncio.to_thread(taped)

    async def main() -> list[float]:
        programs = [_program() for _ in range(4)]
        found = await asyncio.gather(*(work(p, float(n)) for n, p in enumerate(programs)))
        assert [p.x.grad[None] for p in programs] == found
        return found

    assert asyncio.run(main()) == [0.0, 6.0, 12.0, 18.0]


def test_a_generator_that_holds_a_tape_open() -> None:
    """Its tape is open wherever it is advanced from: a block around it that ends first is told."""
    p = _program()
    p.x[None] = 1.0

    def steps() -> Iterator[None]:
        with ti.ad.Tape(p.loss):
            p.first()
            yield
            p.second()

    assert list(steps()) == [None]
    assert p.x.grad[None] == 6.0
    outer = _program()
    running = steps()
    with ti.ad.Tape(outer.loss):
        next(running)
        outer.first()
        outer.second()
    with pytest.raises(ti.GradientError, match="around this one ended first"):
        list(running)
