"""Inspection of a record: calls, repeats, times, norms, gradients in the middle, the origin of a NaN.

It imports `recording` and what is below; nothing here changes a record. Begin with `calls.py`, then
`revisit.py`, which goes backwards once more, also for `trajectories.py`. `state_recorder.py` observes a tape
while it records, for `adjoint_trajectory.py`.
"""
