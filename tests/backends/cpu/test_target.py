"""Vector functions of the C library, for processors of which Numba's settings leave out instructions."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
import dsim as ds

ds.init(default_fp=ds.f32)
x, y = ds.field(ds.f32, shape=128), ds.field(ds.f32, shape=128)
x.from_numpy(np.arange(128, dtype=np.float32) * np.float32(0.05))

@ds.kernel
def waves():
    for i in x:
        y[i] = ds.sin(ds.cast(x[i], ds.f64)) + ds.exp(-x[i])

waves()
at = x.to_numpy().astype(np.float64)
print(np.abs(y.to_numpy() - np.sin(at) - np.exp(-at)).max() < 1e-6)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", ["NUMBA_ENABLE_AVX=0", "NUMBA_CPU_NAME=generic", "NUMBA_CPU_NAME=haswell", "NUMBA_OPT=1"]
)
def test_results_are_right_for_every_processor_that_numba_is_told_of(setting, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    name, _, value = setting.partition("=")
    environment = {**os.environ, name: value}
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
