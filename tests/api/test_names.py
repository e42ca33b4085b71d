"""Taichi's names: those that exist, and those whose error gives the reason."""

import numpy as np
import pytest

import dsim as ti


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("TaichiCompilationError", ti.CompilationError),
        ("TaichiSyntaxError", ti.CompilationError),
        ("TaichiTypeError", TypeError),
        ("TaichiNameError", ti.CompilationError),
        ("TaichiIndexError", ti.CompilationError),
        ("TaichiRuntimeError", ti.DsimError),
        ("TaichiRuntimeTypeError", TypeError),
        ("TaichiAssertionError", AssertionError),
    ],
)
def test_exceptions(name, base):
    assert issubclass(getattr(ti, name), base)


def test_an_index_that_is_known_to_be_outside_is_an_index_error_of_taichis():
    @ti.kernel
    def run() -> float:
        v = ti.Vector([1.0, 2.0])
        return v[3]

    with pytest.raises(ti.TaichiIndexError, match="index 3 is outside"):
        run()


@pytest.mark.parametrize(
    "name", ["amdgpu", "dx11", "dx12", "cc", "wasm", "metal", "opengl", "gles", "vulkan"]
)
def test_machines_that_kernels_cannot_run_on(name, capsys):
    arch = getattr(ti, name)
    ti.init(arch=arch)
    assert f"[dsim] kernels run on the CPU, not on `{name}`: " in capsys.readouterr().err
    assert not ti.is_arch_supported(arch)
    assert ti.is_arch_supported(ti.x86_64)


def test_the_options_in_force():
    ti.init(default_fp=ti.f64, random_seed=3, cpu_max_num_threads=2)
    assert (ti.cfg.default_fp, ti.cfg.random_seed, ti.cfg.cpu_max_num_threads) == (ti.f64, 3, 2)
    assert ti.cfg.arch is ti.cpu
    with pytest.raises(AttributeError, match="no option 'opt_level' has an effect here"):
        _ = ti.cfg.opt_level
    with pytest.raises(AttributeError, match=r"options are chosen by init\(debug=…\)"):
        ti.cfg.debug = True


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ui", "GGUI is out of scope"),
        ("aot", "compiling ahead of time is out of scope"),
        ("simt", "GPU threads"),
        ("profiler", "ds.tools.Timer"),
        ("Texture", "textures are out of scope"),
        ("activate", "sparse layouts are out of scope"),
        ("Mesh", "meshes are out of scope"),
    ],
)
def test_what_is_out_of_scope_says_so(name, why):
    with pytest.raises(AttributeError, match=why):
        getattr(ti, name)


def test_types_that_are_out_of_scope_say_so():
    with pytest.raises(AttributeError, match="quantised types are out of scope"):
        _ = ti.types.quant
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = ti.types.nothing


@pytest.mark.parametrize(
    ("module", "name", "near"),
    [(ti, "kernle", "kernel"), (ti, "f65", "f64"), (ti, "viev", "view"), (ti.tools, "imraed", "imread"),
     (ti.types, "vectr", "vector"), (ti.linalg, "sdv", "svd")],
)  # fmt: skip
def test_a_similar_name_is_suggested(module, name, near):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': did you mean `{near}`\\?$"):
        getattr(module, name)


def test_in_a_kernel_it_is_the_help():
    @ti.kernel
    def run() -> int:
        return ti.global_thread_idx()

    with pytest.raises(ti.TaichiCompilationError, match="help: functions of GPU threads and caches"):
        run()


def test_all_axes():
    x = ti.field(ti.f32)
    ti.root.dense(ti.ki, (4, 2)).dense(ti.kj, (5, 3)).place(x)
    assert x.shape == (2, 3, 20)


def test_a_builder_of_fields_that_is_destroyed():
    builder, x = ti.FieldsBuilder(), ti.field(ti.f32)
    builder.dense(ti.ij, (5, 3)).place(x)
    tree = builder.finalize()
    x[4, 2] = 2.0
    tree.destroy()
    assert x[4, 2] == 2.0  # a reference keeps its field alive


def test_vectors_and_matrices_of_one_column_as_numpy_arrays():
    x, v = ti.Matrix.field(2, 1, ti.f32, shape=3), ti.Vector.field(2, ti.f32, shape=3)
    x.fill(2.5)
    for f in (x, v):
        assert f.to_numpy().shape == (3, 2)
        assert f.to_numpy(keep_dims=True).shape == (3, 2, 1)
        f.from_numpy(np.arange(6.0).reshape(3, 2))
        np.testing.assert_array_equal(f[2], np.reshape([4.0, 5.0], f.entry_shape))
        f.from_numpy(np.arange(1.0, 7.0).reshape(3, 2, 1))
        np.testing.assert_array_equal(f[2], np.reshape([5.0, 6.0], f.entry_shape))
    assert x.to_numpy(dtype=np.int32).dtype == x.to_numpy(np.int32).dtype == np.int32


KINDS = (
    "Field",
    "ScalarField",
    "MatrixField",
    "StructField",
    "Ndarray",
    "ScalarNdarray",
    "VectorNdarray",
    "MatrixNdarray",
)


@pytest.mark.parametrize(
    ("made", "kinds"),
    [
        (lambda: ti.field(ti.f32, 3), {"Field", "ScalarField"}),
        (lambda: ti.field(ti.f32, 3, needs_grad=True).grad, {"Field", "ScalarField"}),
        (lambda: ti.Vector.field(2, ti.f32, 3), {"Field", "MatrixField"}),
        (lambda: ti.Matrix.field(2, 2, ti.f32, 3), {"Field", "MatrixField"}),
        (lambda: ti.Struct.field({"a": ti.f32}, shape=3), {"Field", "StructField"}),
        (lambda: ti.ndarray(ti.f32, 3), {"Ndarray", "ScalarNdarray"}),
        (lambda: ti.Vector.ndarray(2, ti.f32, 3), {"Ndarray", "VectorNdarray"}),
        (lambda: ti.Matrix.ndarray(2, 2, ti.f32, 3), {"Ndarray", "MatrixNdarray"}),
        (lambda: np.zeros(3), set()),
    ],
)
def test_what_fields_and_arrays_are(made, kinds):
    value = made()
    assert {kind for kind in KINDS if isinstance(value, getattr(ti, kind))} == kinds


def test_shapes_by_all_their_names():
    v, m = ti.Vector.field(2, ti.f32, 3), ti.Matrix.ndarray(2, 3, ti.f32, 3)
    assert (v.ndim, m.ndim, ti.field(ti.f32, 3).ndim) == (1, 2, 0)
    assert (m.element_type.dtype, m.element_type.shape) == (ti.f32, (2, 3))
    assert ti.ndarray(ti.i32, 3).element_type == ti.i32
    host = ti.Matrix([[1, 2, 3], [4, 5, 6]])
    assert host.get_shape() == (2, 3)
    assert host.entries.tolist() == [[1, 2, 3], [4, 5, 6]]
    vector = ti.Vector([1, 2, 3, 4])
    assert (vector.s, vector.stp.to_list(), vector.q) == (1, [1, 2, 3], 4)
    kind = ti.types.matrix(2, 3, ti.f32)
    assert (kind.n, kind.m, kind.ndim, kind.get_shape()) == (2, 3, 2, (2, 3))
    assert kind.to_string() == "MatrixType[2,3, f32]"
    assert ti.types.vector(2, float).to_string() == "VectorType[2, f32]"


def test_fields_of_types():
    v, m = ti.field(ti.math.vec3, shape=2, needs_grad=True), ti.field(ti.types.matrix(2, 2, ti.f64), shape=())
    assert (v.n, v.grad.shape, m.entry_shape, m.dtype) == (3, (2,), (2, 2), ti.f64)
    with pytest.raises(TypeError, match="structs cannot be elements here: make a field of structs"):
        ti.field(ti.types.struct(a=ti.f32), shape=2)
    with pytest.raises(TypeError, match="structs cannot be elements here: make a field of structs"):
        ti.ndarray(ti.types.struct(a=ti.f32), shape=2)


def test_orders():
    assert ti.field(ti.f32, shape=(2, 3), order="ji").shape == (2, 3)
    for make in (
        lambda order, shape: ti.field(ti.f32, shape=shape, order=order),
        lambda order, shape: ti.Vector.field(2, ti.f32, shape=shape, order=order),
        lambda order, shape: ti.Matrix.field(2, 2, ti.f32, shape=shape, order=order),
    ):
        with pytest.raises(ValueError, match="`order=` names each of the axes i, j once, got 'ik'"):
            make("ik", (2, 3))
        with pytest.raises(ValueError, match="`order=` needs `shape=`, got 'i'"):
            make("i", None)


def test_types_of_numbers():
    types = ti.types.primitive_types
    assert types.f32 is ti.types.float32 is ti.f32
    assert ti.uint1 is ti.types.uint1 is ti.u1
    assert set(types.all_types) == {*types.real_types, *types.integer_types}
    for t in types.all_types:
        assert ti.types.is_real(t) == (t in types.real_types)
        assert ti.types.is_integral(t) == (t in types.integer_types)
    assert [ti.types.is_signed(t) for t in (ti.i8, int, ti.u8, ti.u1, ti.f32, str)] == [True, True] + [
        False
    ] * 4
    assert ti.types.is_tensor(ti.math.vec3)
    assert not ti.types.is_tensor(ti.f32)


def test_template_among_the_types():
    x = ti.field(ti.f32, shape=3)

    @ti.kernel
    def run(a: ti.types.template(), b: ti.types.ndarray(dtype=ti.f32, field_dim=1)):
        for i in a:
            a[i] += b[i]

    run(x, np.ones(3, np.float32))
    assert x.to_numpy().tolist() == [1.0, 1.0, 1.0]


def test_logging_levels(capsys):
    ti.init(arch=ti.cuda, log_level=ti.ERROR)
    assert not capsys.readouterr().err
    assert not ti.is_logging_effective(ti.WARN)
    assert ti.is_logging_effective(ti.ERROR)
    ti.set_logging_level(ti.DEBUG)
    assert ti.is_logging_effective(ti.DEBUG)
    assert not ti.is_logging_effective(ti.TRACE)
    with pytest.raises(ValueError, match=r"a logging level is one of trace, debug, .*, got 'loud'"):
        ti.set_logging_level("loud")


def test_sparse_matrices_say_what_to_do_instead():
    with pytest.raises(AttributeError, match=r"scipy\.sparse\.linalg"):
        _ = ti.linalg.SparseMatrixBuilder


def test_packs_of_arguments():
    pack = ti.types.argpack(dt=ti.f32, v=ti.math.vec2, inner=ti.types.struct(n=ti.i32))

    @ti.kernel
    def run(p: pack) -> ti.f32:
        return p.dt * p.v.x + p.inner.n

    made = pack(dt=0.5, v=[4.0, 0.0], inner={"n": 3})
    assert run(made) == 5.0
    made.dt = 1.0
    assert run(made) == 7.0
    with pytest.raises(TypeError, match="the member `x` of a pack cannot be an array or template"):
        ti.types.argpack(x=ti.types.ndarray())


@pytest.mark.parametrize("kind", [ti.i16, ti.math.vec2, ti.types.struct(a=ti.f32)], ids=str)
def test_types_cannot_be_changed(kind):
    """All programs of a process share them."""
    name = "bits" if kind is ti.i16 else "members" if hasattr(kind, "members") else "shape"
    with pytest.raises(AttributeError):
        setattr(kind, name, getattr(kind, name))
