"""The display of a report: HTML, text, sliders, errors, and the state "out of date".

It imports `report` and what is below. Begin with `showing.py`, then `page.py` and `living.py`.
"""
