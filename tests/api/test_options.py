"""`init` and the names of architectures."""

import importlib

import pytest

import dsim as ti
from dsim.backends.cuda import toolchain


def test_options_of_taichi_are_accepted():
    ti.init(
        arch=ti.cpu, offline_cache=False, log_level=ti.ERROR, kernel_profiler=False, cpu_max_num_threads=1
    )
    ti.init(arch=ti.x64, ad_stack_size=32, fast_math=True, device_memory_GB=1)


# Those of Taichi 1.7.4's compile configuration, and those that `init` takes beside.
OPTIONS = """
    ad_stack_size advanced_optimization allow_nv_shader_extension auto_mesh_local_default_occupacy
    cache_loop_invariant_global_vars cfg_optimization check_out_of_bound cpu_block_dim_adaptive
    cpu_max_num_threads cuda_stack_limit debug default_cpu_block_dim default_gpu_block_dim
    default_up demote_dense_struct_fors demote_no_access_mesh_fors detect_read_only device_memory_GB
    device_memory_fraction experimental_auto_mesh_local fast_math flatten_if force_scalarize_matrix
    gpu_max_reg half2_vectorization kernel_profiler lower_access make_block_local
    make_cpu_multithreading_loop make_mesh_block_local make_thread_local max_block_dim
    mesh_localize_all_attr_mappings mesh_localize_from_end_mapping mesh_localize_to_end_mapping
    move_loop_invariant_outside_if num_compile_threads offline_cache offline_cache_cleaning_factor
    offline_cache_cleaning_policy offline_cache_file_path offline_cache_max_size_of_files opt_level
    optimize_mesh_reordered_mapping print_accessor_ir print_ir print_ir_dbg_info print_kernel_amdgcn
    print_kernel_asm print_kernel_llvm_ir print_kernel_llvm_ir_optimized print_preprocessed_ir
    print_struct_llvm_ir quant_opt_atomic_demotion quant_opt_store_fusion random_seed
    real_matrix_scalarize saturating_grid_dim simplify_after_lower_access
    simplify_before_lower_access timeline use_llvm verbose verbose_kernel_launches vk_api_version
    enable_fallback require_version _test_mode print_full_traceback unrolling_limit
    short_circuit_operators gdb_trigger ndarray_use_cached_allocator
"""


@pytest.mark.parametrize("name", OPTIONS.split())
def test_every_option_of_taichi_is_accepted(name, tmp_path):
    ti.init(**{name: tmp_path if name.endswith("_path") else 1})


def test_fields_and_kernels_outlive_what_was_chosen():
    x = ti.field(ti.f32, shape=3, needs_grad=True)

    @ti.kernel
    def run():
        for i in x:
            x[i] += 1.0

    run()
    ti.init(default_fp=ti.f64)
    run()
    assert x.to_numpy().tolist() == [2.0, 2.0, 2.0]
    ti.root.lazy_dual()
    assert not x.needs_dual  # only the fields placed since
    ti.reset()
    assert ti.field(float, shape=()).dtype == ti.f32


def test_an_option_that_nobody_knows():
    with pytest.raises(TypeError, match="unknown option defalt_fp"):
        ti.init(defalt_fp=ti.f64)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"default_fp": ti.i32}, "default_fp must be a float type"),
        ({"default_ip": ti.f32}, "default_ip must be an integer type"),
        ({"default_fp": "f32"}, "default_fp must be a float type"),
        ({"arch": "cpu"}, "arch must be cpu, cuda or gpu"),
        ({"offline_cache_file_path": 1}, "offline_cache_file_path must be a path"),
        ({"offline_cache_max_size_of_files": 0}, "must be a positive number of bytes, got 0"),
        ({"offline_cache_max_size_of_files": "1 GB"}, "must be a positive number of bytes, got '1 GB'"),
    ],
)
def test_values_of_the_wrong_kind(options, message):
    with pytest.raises(TypeError, match=message):
        ti.init(**options)


NO_DRIVER = "there is no NVIDIA driver"
NOT_YET = "dsim writes PTX for CUDA's devices, but does not launch it yet"
NO_CODE = "CUDA's are the only devices that dsim writes code for"
DEVICES = [
    (ti.cuda, False, NO_DRIVER),
    (ti.gpu, False, NO_DRIVER),
    (ti.cuda, True, NOT_YET),
    (ti.gpu, True, NOT_YET),
    (ti.vulkan, True, NO_CODE),
]


@pytest.fixture
def driver(monkeypatch):
    """Plays a machine that has NVIDIA's driver, or one that has none."""

    def play(there):
        monkeypatch.setattr(toolchain, "has_driver", lambda: there)

    return play


@pytest.mark.parametrize(("arch", "there", "reason"), DEVICES)
def test_where_no_kernel_runs_the_cpu_takes_over(arch, there, reason, driver, capsys):
    driver(there)
    ti.init(arch=arch)
    said = capsys.readouterr().err
    assert said == f"[dsim] kernels run on the CPU, not on `{arch.name}`: {reason}\n"
    assert ti.cfg.arch is ti.cpu
    ti.init(arch=[arch, ti.cpu])
    assert not capsys.readouterr().err


@pytest.mark.parametrize(("arch", "there", "reason"), DEVICES)
def test_unless_a_fallback_is_refused(arch, there, reason, driver, capsys):
    driver(there)
    ti.init(default_fp=ti.f64)
    with pytest.raises(ti.DeviceError) as error:
        ti.init(arch=arch, enable_fallback=False)
    (found,) = error.value.diagnostics
    assert found.code == "device"
    assert found.message == f"kernels cannot run on `{arch.name}`: {reason}"
    assert "`dsim doctor` says what is here" in found.remedy
    assert not capsys.readouterr().err
    assert ti.cfg.default_fp == ti.f64  # the options stay as they were
    ti.init(arch=[arch, ti.cpu], enable_fallback=False)
    ti.init(arch=ti.cpu, enable_fallback=False)
    ti.init(enable_fallback=False)


def test_several_devices_are_listed(driver, capsys):
    driver(False)
    ti.init(arch=[ti.cuda, ti.vulkan])
    assert f"not on `cuda` or `vulkan`: {NO_DRIVER}\n" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["ad", "math", "types", "tools"])
def test_modules_can_be_imported_and_reached(name):
    module = importlib.import_module(f"dsim.{name}")
    assert getattr(ti, name) is module


def test_where_machine_code_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("DSIM_CACHE_DIR", str(tmp_path / "by default"))
    ti.init()
    assert ti.cfg.offline_cache
    assert ti.cfg.offline_cache_file_path == str(tmp_path / "by default")
    ti.init(offline_cache_file_path=tmp_path / "chosen", offline_cache_max_size_of_files=1000)
    assert ti.cfg.offline_cache_file_path == str(tmp_path / "chosen")
    assert ti.cfg.offline_cache_max_size_of_files == 1000
    ti.init(offline_cache=False)
    assert not ti.cfg.offline_cache
    assert not ti.cfg.offline_cache_file_path
    ti.reset()
    assert ti.cfg.offline_cache_file_path == str(tmp_path / "by default")


def test_sync_waits_for_nothing():
    assert ti.sync() is None


@pytest.mark.slow
def test_a_kernel_is_compiled_by_the_settings_that_it_was_made_under():
    """Also when others are in force by then, as for the adjoint of a launch that a tape has recorded."""
    ti.init(default_fp=ti.f64, loop_memory=1)
    x = ti.field(ti.f64, shape=4, needs_grad=True)

    @ti.kernel
    def swing():
        for i in x:
            q = x[i]
            for _ in range(100):
                q += ti.sin(q)
            x[i] = q

    cut = swing.adjoint
    ti.init(default_fp=ti.f64)
    text = cut.llvm
    assert swing.adjoint.llvm != text
    ti.init(default_fp=ti.f64, loop_memory=1)
    assert swing.adjoint.llvm == text
