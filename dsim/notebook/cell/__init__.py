"""The content and the options of a `%%kernel` cell.

It uses the text and the names of the notebook. Begin with `options.py`, then `request.py`.
"""
