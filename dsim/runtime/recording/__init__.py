"""What a tape or forward mode records while it is open, and the sweep over the record.

It imports `launching` and what is below. Begin with `record.py` and `entries.py`, then `save_policy.py`
and `sweep.py`.
"""
