"""The runtime: fields, launches, tapes, forward mode.

Each package imports only those below it: `tapes` and `kernels`, which know nothing of each other;
`checking`, `inspection`, `recording`, `launching`; `fields` and `driver`, which know nothing of each other;
`state`. Begin with `driver/programs.py` and `launching/forms.py`.
"""
