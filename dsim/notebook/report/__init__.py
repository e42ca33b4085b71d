"""From a request to a report: the results and their locations, as one JSON object.

It imports `cell`, `running` and `tape`. Begin with `reporting.py` and `report.py`.
"""
