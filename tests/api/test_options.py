"""`init` and the names of machines."""

import importlib

import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _after():
    yield
    ti.reset()


def test_options_of_taichi_are_accepted():
    ti.init(
        arch=ti.cpu, offline_cache=False, log_level=ti.ERROR, kernel_profiler=False, cpu_max_num_threads=1
    )
    ti.init(arch=ti.x64, ad_stack_size=32, fast_math=True, device_memory_GB=1)


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
    ],
)
def test_values_of_the_wrong_kind(options, message):
    with pytest.raises(TypeError, match=message):
        ti.init(**options)


@pytest.mark.parametrize("arch", [ti.cuda, ti.gpu, ti.vulkan])
def test_without_a_device_the_cpu_takes_over(arch, capsys):
    ti.init(arch=arch)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"no {arch.name} here: kernels run on the CPU" in said
    ti.init(arch=[arch, ti.cpu])
    assert not capsys.readouterr().err


@pytest.mark.parametrize("name", ["ad", "math", "types", "tools"])
def test_modules_can_be_imported_and_reached(name):
    module = importlib.import_module(f"dsim.{name}")
    assert getattr(ti, name) is module


def test_sync_waits_for_nothing():
    assert ti.sync() is None
