"""The view of a trajectory: states forwards, adjoints backwards, and their norms.

It imports `live`. `picture.py` says what is drawn of one step, `view.py` goes through the steps.
"""
