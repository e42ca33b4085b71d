"""What a tape keeps for the way back: calls, snapshots, checkpoints of steps, and who chooses them.

It imports `launching`, `schedules` and what is below. Begin with `entries.py` and `snapshots.py`, then
`save_policy.py`; `steps.py` has loops with checkpoints.
"""
