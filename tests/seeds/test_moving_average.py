"""An exponentially weighted moving average: overwritten control values, and a separate tape."""

import numpy as np
import pytest

import dsim as ti

# With one row the loop over samples is the outermost one, and dsim warns that it is serial.
pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f32)


class Averages:
    """The fields and kernels of the moving average over `data`, rows of samples."""

    def __init__(self, data):
        rows, columns = np.shape(data)
        self.data = data_field = ti.field(ti.f32, shape=(rows, columns), needs_grad=True)
        self.mean = mean = ti.field(ti.f32, shape=(rows, columns), needs_grad=True)
        self.loss = loss = ti.field(ti.f32, (), needs_grad=True)
        cursor = ti.field(ti.i32, shape=rows)
        positions = ti.field(ti.i32, shape=(rows, columns))
        data_field.from_numpy(np.asarray(data, np.float32))

        @ti.kernel
        def by_a_cursor():
            for row in range(rows):
                for _ in range(columns):
                    at = cursor[row]
                    if at == 0:
                        mean[row, at] = data_field[row, at]
                    else:
                        mean[row, at] = mean[row, at - 1] * 0.5 + data_field[row, at] * 0.5
                    cursor[row] += 1

        @ti.kernel
        def number():
            for row in range(rows):
                for column in range(columns):
                    positions[row, column] = column

        @ti.kernel
        def by_numbers():
            for row in range(rows):
                for column in range(columns):
                    at = positions[row, column]
                    if at == 0:
                        mean[row, at] = data_field[row, at]
                    else:
                        mean[row, at] = mean[row, at - 1] * 0.5 + data_field[row, at] * 0.5

        @ti.kernel
        def one_row_too_far():
            for _ in range(rows):
                loss[None] += mean[rows, columns - 1] ** 2

        @ti.kernel
        def last_squared():
            for row in range(rows):
                loss[None] += mean[row, columns - 1] ** 2

        self.by_a_cursor, self.number, self.by_numbers = by_a_cursor, number, by_numbers
        self.one_row_too_far, self.last_squared = one_row_too_far, last_squared

    def taped(self, *kernels, **options):
        with ti.Tape(self.loss, **options):
            for kernel in kernels:
                kernel()


def test_a_cursor_that_moves_on():
    run = Averages([[1.0, 2.0]])
    run.taped(run.by_a_cursor, run.last_squared)
    assert run.loss[None] == 2.25
    assert run.data.grad.to_numpy().tolist() == [[1.5, 1.5]]


def test_a_cursor_that_moves_on_is_refused_on_request():
    run = Averages([[1.0, 2.0]])
    with pytest.raises(ti.AccessRuleError) as error:
        run.taped(run.by_a_cursor, run.last_squared, validation=True)
    assert "at = cursor[row]" in str(error.value)
    assert "cursor[row] += 1" in str(error.value)


def test_a_row_past_the_end_is_refused():
    run = Averages([[1.0, 2.0]])
    run.number()
    with pytest.raises(ti.BoundsError) as error:
        run.taped(run.by_numbers, run.one_row_too_far)
    assert isinstance(error.value, IndexError)
    message = str(error.value)
    assert "`mean`" in message
    assert "(1, 1)" in message  # the index
    assert "(1, 2)" in message  # the shape
    assert "loss[None] += mean[rows, columns - 1] ** 2" in message


@pytest.mark.parametrize("data", [(1.0, 2.0), tuple(np.random.RandomState(0).randn(2)), (-3.0, 0.5)])
def test_positions_written_beforehand_are_right(data):
    run = Averages([data])
    run.number()
    run.taped(run.by_numbers, run.last_squared)
    mean = 0.5 * data[0] + 0.5 * data[1]
    assert run.loss[None] == pytest.approx(mean**2, rel=1e-6)
    np.testing.assert_allclose(run.data.grad.to_numpy(), [[mean, mean]], rtol=1e-6)


def test_several_rows_of_several_samples():
    data = np.random.default_rng(3).random((3, 6)).astype(np.float32)
    run = Averages(data)
    run.number()
    run.taped(run.by_numbers, run.last_squared)
    weights = 0.5 ** np.array([5, 5, 4, 3, 2, 1])
    means = data @ weights
    assert run.loss[None] == pytest.approx((means**2).sum(), rel=1e-5)
    np.testing.assert_allclose(run.data.grad.to_numpy(), 2 * means[:, None] * weights, rtol=1e-5)
