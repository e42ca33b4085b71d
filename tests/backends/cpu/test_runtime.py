"""The state that all launches of a process share."""

import subprocess
import sys

import pytest
from numba.np.ufunc.parallel import NUM_THREADS

PROGRAM = """
import dsim as ds
from dsim.backends.cpu.runtime import runtime

x = ds.field(ds.f64, shape=100_000)
s = ds.field(ds.f64, shape=())

@ds.kernel
def count():
    s[None] += 1.0

@ds.kernel
def double():
    for i in x:
        x[i] *= 2.0

threads = lambda: runtime().threads
count()
print(threads())
double()
print(threads(), runtime()._team.size)
"""
BESIDE = """
import os, sys, threading, time
import dsim as ds

x = ds.field(ds.f64, shape=100_000)

@ds.kernel
def double():
    for i in x:
        x[i] = 2.0 * x[i] + 1.0

def repeat():
    while True:
        double()

double()
child = os.fork()
if not child:
    double()
    print(x[7], flush=True)
    os._exit(0)
os.waitpid(child, 0)
for _ in range(3):
    threading.Thread(target=repeat, daemon=True).start()
time.sleep(0.2)
print("end")
"""

LATE = """
import atexit, threading, time
import dsim as ds
from dsim.backends.cpu import runtime

x = ds.field(ds.f64, shape=100_000)
atexit.register(time.sleep, 1.0)  # runs after dsim's own function

@ds.kernel
def long(n: ds.i32):
    for i in x:
        for _ in range(n):
            x[i] = ds.sin(x[i] + 1.0)

for _ in range(20):  # of which some are alone, to measure that
    long(1)
start = time.perf_counter()
long(20)
runtime._LONGEST_END = 0.05
count = int(20 * 0.7 / (time.perf_counter() - start))
threading.Thread(target=long, args=(count,), daemon=True).start()
time.sleep(0.1)
print("end")
"""


@pytest.mark.slow
def test_threads_are_started_by_the_first_kernel_with_a_parallel_loop(tmp_path):
    assert run(tmp_path, PROGRAM) == f"1\n{NUM_THREADS} {NUM_THREADS}\n"


@pytest.mark.slow
def test_a_process_ends_while_daemon_threads_launch_and_its_child_launches_too(tmp_path):
    assert run(tmp_path, BESIDE) == "3.0\nend\n"


@pytest.mark.slow
def test_a_launch_may_take_longer_than_the_end_of_the_process_waits(tmp_path):
    assert run(tmp_path, LATE) == "end\n"


def run(folder, text):
    """What a program of its own prints."""
    file = folder / "program.py"
    file.write_text(text)
    command = [sys.executable, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout
