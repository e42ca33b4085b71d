"""The runtime: fields, launches, tapes, forward mode, transforms.

Each package imports only those below it: `transforms`; `tapes` and `kernels`, which know nothing of each
other; `checking`; `inspection`; `recording` and `operations`; `saving`; `launching`; `fields`, `driver` and
`schedules`; `state`. Begin with `driver/programs.py` and `launching/forms.py`.
"""
