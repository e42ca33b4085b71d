"""`ds.explore`: a run that follows sliders, and what a person drags.

It imports views. Begin with `explore.py` and `explorer.py`; `panel.py` is what the page shows.
"""
