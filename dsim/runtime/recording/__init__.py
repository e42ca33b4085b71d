"""What a tape or forward mode notes while it is open, and the sweep over what was noted.

It imports `launching` and what is below. Begin with `record.py` and `entries.py`, then `save_policy.py`
and `sweep.py`.
"""
