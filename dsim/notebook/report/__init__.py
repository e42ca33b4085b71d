"""From a request to a report: what was computed, at which places, as one piece of JSON.

It imports `cell`, `running` and `tape`. Begin with `reporting.py` and `report.py`.
"""
