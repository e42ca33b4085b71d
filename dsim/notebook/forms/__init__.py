"""A report as a user sees it: HTML, text, sliders, errors, and grey when it is out of date.

It imports `report` and what is below. Begin with `showing.py`, then `page.py` and `living.py`.
"""
