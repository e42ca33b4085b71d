"""`ds.math` in kernels and outside, against Python's complex numbers, NumPy and the definitions."""

import cmath
import itertools
import math

import numpy as np
import pytest

import dsim as ti
from dsim import math as tm

POINTS = [(1.0, 2.0), (-1.5, 0.25), (-0.5, -2.0), (3.0, -0.125), (2.0, 0.0), (0.0, -1.0), (-4.0, 0.0)]
ONE = {
    "cconj": lambda z: z.conjugate(),
    "cinv": lambda z: 1 / z,
    "csqrt": cmath.sqrt,
    "cexp": cmath.exp,
    "clog": cmath.log,
}
TWO = {"cmul": lambda z, w: z * w, "cdiv": lambda z, w: z / w}


@pytest.fixture(autouse=True)
def _double():
    ti.init(default_fp=ti.f64)


def both_ways(function, *args):
    """What `function` gives in a kernel and outside, which must be the same."""
    outside = np.asarray(function(*args))
    out = ti.field(ti.f64, shape=max(outside.size, 1))
    shape = outside.shape

    @ti.kernel
    def run():
        value = function(*args)
        if ti.static(len(shape) == 0):
            out[0] = value
        elif ti.static(len(shape) == 1):
            for i in ti.static(range(shape[0])):
                out[i] = value[i]
        else:
            for i, j in ti.static(ti.ndrange(*shape)):
                out[i * shape[1] + j] = value[i, j]

    run()
    inside = out.to_numpy().reshape(shape)
    np.testing.assert_allclose(inside, outside, rtol=1e-12, atol=1e-14)
    return inside


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("at", POINTS)
def test_complex_functions(name, at):
    wanted = ONE[name](complex(*at))
    got = both_ways(getattr(tm, name), tm.vec2(*at))
    np.testing.assert_allclose(got, [wanted.real, wanted.imag], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(("a", "b"), list(itertools.product(POINTS, repeat=2))[::5])
def test_complex_products_and_quotients(name, a, b):
    wanted = TWO[name](complex(*a), complex(*b))
    got = both_ways(getattr(tm, name), tm.vec2(*a), tm.vec2(*b))
    np.testing.assert_allclose(got, [wanted.real, wanted.imag], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", [2.0, 0.5, -1.0, 3.0, 0.0])
@pytest.mark.parametrize("at", POINTS)
def test_complex_powers(n, at):
    wanted = complex(*at) ** n
    assert abs(complex(*both_ways(tm.cpow, tm.vec2(*at), n)) - wanted) <= 1e-14 * abs(wanted)


def test_complex_numbers_of_integers_are_floats():
    out = ti.field(ti.f64, shape=2)

    @ti.kernel
    def run():
        z = tm.cmul(ti.Vector([1, 2]), ti.Vector([3, 4]))
        z *= 0.5
        w = tm.cconj(ti.Vector([1, 2]))
        w *= 0.5
        out[0], out[1] = z[0], w[1]

    run()
    assert out.to_numpy().tolist() == [-2.5, -1.0]


def test_powers_and_roots_of_0():
    assert both_ways(tm.csqrt, tm.vec2(0, 0)).tolist() == [0, 0]
    assert both_ways(tm.cpow, tm.vec2(0, 0), 2.0).tolist() == [0, 0]
    assert both_ways(tm.cpow, tm.vec2(0, 0), 0.0).tolist() == [1, 0]


def gradient_at_0(n):
    z, loss = ti.Vector.field(2, ti.f64, shape=(), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def run():
        loss[None] += tm.cpow(z[None], n)[0]

    with ti.Tape(loss):
        run()
    return z.grad[None].to_numpy()


def test_the_derivative_of_a_power_at_0():
    assert gradient_at_0(2.0).tolist() == [0, 0]
    assert gradient_at_0(3.0).tolist() == [0, 0]
    assert np.isnan(gradient_at_0(0.5)).all()  # there is none, and none is made up


def turn(axis, angle):
    """The rotation of columns about `axis`, by Rodrigues' formula."""
    k = np.cross(axis / np.linalg.norm(axis), np.eye(3)).T
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def test_rotations_in_space_are_of_rows():
    axis = np.array([1.0, -2.0, 0.5])
    got = both_ways(tm.rot_by_axis, tm.vec3(*axis), 0.7)
    np.testing.assert_allclose(got[:3, :3].T, turn(axis, 0.7), atol=1e-13)
    np.testing.assert_array_equal(got[3], [0, 0, 0, 1])
    np.testing.assert_array_equal(got[:, 3], [0, 0, 0, 1])


def test_yaw_pitch_and_roll():
    x, y, z = np.eye(3)
    got = both_ways(tm.rot_yaw_pitch_roll, 0.3, -0.8, 1.1)
    np.testing.assert_allclose(got[:3, :3].T, turn(y, 0.3) @ turn(x, -0.8) @ turn(z, 1.1), atol=1e-13)
    np.testing.assert_array_equal(both_ways(tm.rotation3d, -0.8, 1.1, 0.3), got)


def test_rotations_in_the_plane_and_other_motions():
    np.testing.assert_allclose(both_ways(tm.rotation2d, 0.5) @ [1, 0], both_ways(tm.vdir, 0.5))
    np.testing.assert_array_equal(both_ways(tm.translate, 1.0, 2.0, 3.0) @ [5, 6, 7, 1], [6, 8, 10, 1])
    np.testing.assert_array_equal(both_ways(tm.scale, 1.0, 2.0, 3.0) @ [5, 6, 7, 1], [5, 12, 21, 1])


def test_refraction_keeps_snells_law():
    n, x = np.array([0.0, 1.0]), np.array([np.sin(0.6), -np.cos(0.6)])
    bent = both_ways(tm.refract, tm.vec2(*x), tm.vec2(*n), 0.75)
    assert np.linalg.norm(bent) == pytest.approx(1.0)
    assert bent[0] == pytest.approx(0.75 * np.sin(0.6))
    assert bent[1] < 0
    assert both_ways(tm.refract, tm.vec2(*x), tm.vec2(*n), 2.0).tolist() == [0, 0]  # reflected as a whole


INTEGERS = [0, 1, -1, 5, -128, 127, 1 << 20, -(1 << 31), (1 << 31) - 1]


@pytest.mark.parametrize("dtype", [ti.i8, ti.i16, ti.i32, ti.i64, ti.u8, ti.u16, ti.u32, ti.u64])
def test_bits(dtype):
    bits = dtype.bits
    unsigned = [v & (1 << bits) - 1 for v in INTEGERS]
    x = ti.field(dtype, shape=len(unsigned))
    x.from_numpy(np.array(unsigned, f"uint{bits}").view(dtype.numpy))
    ones, zeros = (ti.field(ti.i64, shape=len(unsigned)) for _ in range(2))
    shifted = ti.field(dtype, shape=len(unsigned))

    @ti.kernel
    def run():
        for i in x:
            ones[i] = tm.popcnt(x[i])
            zeros[i] = tm.clz(x[i])
            shifted[i] = ti.bit_shr(x[i], 3)

    run()
    assert ones.to_numpy().tolist() == [v.bit_count() for v in unsigned]
    assert zeros.to_numpy().tolist() == [bits - v.bit_length() for v in unsigned]
    got = shifted.to_numpy().view(f"uint{bits}").tolist()
    assert got == [v >> 3 for v in unsigned]


def test_bits_outside_of_kernels():
    assert [tm.popcnt(v) for v in (-1, 7, 1 << 40)] == [32, 3, 1]
    assert [tm.clz(v) for v in (-1, 7, 0, 1 << 40)] == [0, 29, 32, 23]
    assert ti.bit_shr(-1, 28) == 15
    assert tm.popcnt(ti.Vector([1, 3])).to_list() == [1, 2]
    with pytest.raises(TypeError, match="got a float"):
        tm.popcnt(1.5)


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, -5)])
def test_division_as_the_machine_does_it(a, b):
    @ti.kernel
    def run(x: int, y: int) -> ti.math.ivec2:
        return [ti.raw_div(x, y), ti.raw_mod(x, y)]

    wanted = [int(a / b), int(np.fmod(a, b))]
    assert run(a, b).to_list() == wanted
    assert [ti.raw_div(a, b), ti.raw_mod(a, b)] == wanted


def test_division_of_floats_and_by_0():
    @ti.kernel
    def floats(x: float, y: float) -> ti.math.vec2:
        return [ti.raw_div(x, y), ti.raw_mod(x, y)]

    @ti.kernel
    def integers(x: int, y: int) -> ti.math.ivec2:
        return [ti.raw_div(x, y), ti.raw_mod(x, y)]

    assert floats(-7.5, 2.0).to_list() == [-3.75, -1.5]
    assert integers(-7, 0).to_list() == [0, 0]


def test_values_like_others():
    @ti.kernel
    def run(x: float, n: int) -> ti.types.matrix(2, 3, float):
        v = ti.Vector([x, x])
        a = ti.one(n)
        a += 0 * ti.zero(n)
        return [[ti.zero(v)[0], ti.one(v)[1], a / 2], [ti.zero(x), ti.one(x), ti.one([1, 2])[1] / 2]]

    assert run(float("inf"), 7).to_list() == [[0, 1, 0.5], [0, 1, 0.5]]
    assert ti.zero(ti.Vector([3.0, 4.0])).to_list() == [0, 0]
    assert ti.one(5) == 1


@pytest.mark.parametrize("name", ["popcnt", "clz"])
def test_bits_are_those_of_integers(name):
    function = getattr(tm, name)

    @ti.kernel
    def run(x: float) -> int:
        return function(x)

    with pytest.raises(ti.TaichiTypeError, match=f"`{name}` works on integers, got an f64"):
        run(1.0)


def test_all_names_of_taichis_module_are_there():
    taichis = """
        acos asin atan2 cconj cdiv ceil cexp cinv clamp clog clz cmul cos cpow cross csqrt degrees
        determinant distance dot e exp eye floor fract inf inverse isinf isnan ivec2 ivec3 ivec4 length
        log log2 mat2 mat3 mat4 max min mix mod nan normalize pi popcnt pow radians reflect refract
        rot_by_axis rot_yaw_pitch_roll rotation2d rotation3d round scale sign sin smoothstep sqrt step
        tan tanh translate uvec2 uvec3 uvec4 vdir vec2 vec3 vec4
    """
    assert set(taichis.split()) <= set(tm.__all__)
    assert all(hasattr(tm, name) for name in tm.__all__)


@pytest.mark.parametrize("name", ["floor", "ceil", "round"])
def test_whole_numbers_in_another_type(name):
    function = getattr(ti, name)
    v = ti.Vector([1.7, -2.5, 0.2])
    assert both_ways(function, 2.5, ti.i32) == both_ways(function, 2.5)
    assert both_ways(function, v, ti.i32).tolist() == both_ways(function, v).tolist()
    assert isinstance(function(2.5, ti.i32), int)
    assert isinstance(function(2.5), float)
    assert function(2.5, dtype=float) == function(2.5)
    with pytest.raises(TypeError, match="needs a type"):
        function(2.5, 6)


@pytest.mark.parametrize("dtype", [ti.f16, ti.f32, ti.f64])
@pytest.mark.parametrize("finite", [math.isfinite, np.isfinite])
def test_is_finite(dtype, finite):
    x = ti.field(dtype, shape=6, needs_grad=True)
    y = ti.field(dtype, shape=6, needs_grad=True)
    total = ti.field(dtype, shape=(), needs_grad=True)

    @ti.kernel
    def kept():
        for i in x:
            y[i] = 2.0 * x[i] if finite(x[i]) else -1.0
        for i in y:
            total[None] += y[i]

    numbers = np.array([1.5, math.nan, math.inf, -math.inf, 0.0, np.finfo(dtype.numpy).max / 4])
    x.from_numpy(numbers.astype(dtype.numpy))
    with ti.ad.Tape(total):
        kept()
    right = np.isfinite(numbers)
    assert (y.to_numpy() == np.where(right, 2 * x.to_numpy(), -1)).all()
    assert (x.grad.to_numpy() == np.where(right, 2, 0)).all()
