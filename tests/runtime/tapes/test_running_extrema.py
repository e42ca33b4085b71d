"""Running minima and maxima that go into sums: no value is needed, but where each was found is."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ds

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")

VALUES = [0.5, 1.0, 0.25, 2.0]


@pytest.fixture
def fields():
    v, m, loss = (ds.field(ds.f64, shape, needs_grad=True) for shape in (4, (), ()))
    v.from_numpy(np.array(VALUES))
    return v, m, loss


def gradients(run, v, m, loss):
    with ds.Tape(loss):
        run()
    return [*v.grad.to_numpy(), m.grad[None]]


def test_what_stood_there_before_each_update(fields):
    v, m, loss = fields

    @ds.kernel
    def run():
        for i in range(4):
            loss[None] += ds.atomic_max(m[None], v[i])

    assert gradients(run, *fields) == [1.0, 2.0, 0.0, 0.0, 1.0]


def test_what_stands_there_after_each_update(fields):
    v, m, loss = fields

    @ds.kernel
    def run():
        for i in range(4):
            ds.atomic_max(m[None], v[i])
            loss[None] += m[None]

    assert gradients(run, *fields) == [1.0, 2.0, 0.0, 1.0, 0.0]


def test_updates_one_after_another(fields):
    v, m, loss = fields

    @ds.kernel
    def run():
        ds.atomic_min(m[None], -v[0])
        loss[None] += 2.0 * m[None]
        ds.atomic_min(m[None], -v[1])
        loss[None] += 3.0 * m[None]
        ds.atomic_min(m[None], -v[2])

    assert gradients(run, *fields) == [-2.0, -3.0, 0.0, 0.0, 0.0]


def test_each_iteration_keeps_what_it_found():
    n = 50_000
    v, y = ds.field(ds.f64, n, needs_grad=True), ds.field(ds.f64, n, needs_grad=True)
    m, loss = ds.field(ds.f64, (), needs_grad=True), ds.field(ds.f64, (), needs_grad=True)
    steps = np.arange(n) % 7 + 0.001 * np.arange(n)
    v.from_numpy(steps)

    @ds.kernel
    def find():
        for i in v:
            y[i] = ds.atomic_max(m[None], v[i])

    @ds.kernel
    def add():
        for i in v:
            loss[None] += y[i]

    with ds.Tape(loss):
        find()
        add()
    found = np.concatenate([[0.0], np.maximum.accumulate(steps)[:-1]])
    records = np.flatnonzero(steps >= found)
    expected = np.zeros(n)
    expected[records] = np.diff(np.append(records, n - 1))
    np.testing.assert_array_equal(y.to_numpy(), found)
    np.testing.assert_array_equal(v.grad.to_numpy(), expected)
