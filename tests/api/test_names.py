"""Names of Taichi's: those that are there, and those that say why they are not."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _after():
    yield
    ti.reset()


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
    assert f"no {name} here: kernels run on the CPU" in capsys.readouterr().err
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
        ("simt", "GPU's threads"),
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


def test_in_a_kernel_it_is_the_help():
    @ti.kernel
    def run() -> int:
        return ti.global_thread_idx()

    with pytest.raises(ti.TaichiCompilationError, match="help: what belongs to a GPU's threads and caches"):
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
    assert x[4, 2] == 2.0  # whoever holds a field keeps it


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


def test_ndarrays_go_by_all_their_names():
    assert isinstance(ti.ndarray(ti.f32, 3), ti.ScalarNdarray)
    assert isinstance(ti.Vector.ndarray(2, ti.f32, 3), ti.VectorNdarray)
    assert isinstance(ti.field(ti.f32, 3), ti.Field)
