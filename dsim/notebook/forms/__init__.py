"""The display of a report: HTML, text, sliders, errors; what is out of date, and what follows numbers.

It imports `report` and what is below. Begin with `showing.py`, then `page.py` and `living.py`.
"""
