"""The state that all launches of a process share."""

import subprocess
import sys

import pytest
from numba.np.ufunc.parallel import NUM_THREADS

PROGRAM = """
from numba.np.ufunc import parallel
import dsim as ds
from dsim.backends.cpu.runtime import thread_count

x = ds.field(ds.f64, shape=100_000)
s = ds.field(ds.f64, shape=())

@ds.kernel
def count():
    s[None] += 1.0

@ds.kernel
def double():
    for i in x:
        x[i] *= 2.0

before = thread_count()
count()
print(parallel._is_initialized)
double()
print(parallel._is_initialized, before, thread_count())
"""


@pytest.mark.slow
def test_threads_are_started_by_the_first_kernel_with_a_parallel_loop(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == f"False\nTrue {NUM_THREADS} {NUM_THREADS}\n"
