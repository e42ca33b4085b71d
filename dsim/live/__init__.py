"""Views of fields that follow a program while it runs, and what a person does to them there.

It imports `api` and what is below; the page's half is in `page/`. A `scene` says what is drawn, `frames` are
its numbers, `widget` sends them. Begin with `viewing.py` and `view.py`.
"""
