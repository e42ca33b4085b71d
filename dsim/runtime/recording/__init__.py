"""What a tape or forward mode records while it is open.

It imports `saving` and what is below. Begin with `record.py` and `launch_recorder.py`.
"""
