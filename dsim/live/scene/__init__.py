"""What a view draws: layers of fields in a box, and their numbers at one moment as bytes.

It imports `api` and what is below. Begin with `scene.py`; `layers.py` has what can be drawn,
`encoding.py` its bytes.
"""
