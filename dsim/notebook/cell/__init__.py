"""What a `%%kernel` cell says and asks for.

It knows the text and the names of the notebook. Begin with `options.py`, then `request.py`.
"""
