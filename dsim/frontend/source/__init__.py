"""The source of Python functions, what they capture, and the frontend's result.

It depends on Python alone. Begin with `source.py`; `lowered.py` has what goes in and what comes out,
`launch_numbers.py` the numbers that launches compute.

The frontend imports nothing of the layers above. It knows their objects by attributes:

- ``__dsim_func__``: of a func, its Python function; ``__dsim_rules__``: its own derivative, or None
- ``__dsim_derivative__``: of a derivative of a func, its mode and the func
- ``__dsim_kernel__``, ``__dsim_field__``, ``__dsim_matrix__``, ``__dsim_layout_node__``: marks of a kernel, a
  field (`captures.FieldLike`), a vector or matrix of the host, and a node in which fields are placed
- ``__dsim_struct_field__``, ``__dsim_struct_value__``: of a field of structs, and of a struct of the host,
  the members; ``__dsim_struct__``: their type
- ``__dsim_builtin__``: of a function of the language, its name there
- ``__dsim_template__``, ``__dsim_array__``: marks of annotations
- ``__dsim_text__``: of a function that was written as the body of a cell, its source
"""
