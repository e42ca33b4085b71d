"""Types of structs, as objects of Python."""

import pytest

import dsim as ds

Ball = ds.types.struct(pos=ds.types.vector(2, ds.f64), mass=ds.f64)


def test_a_struct_type_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot be changed: give it a member `scale`") as refused:
        Ball.scale = 3.0
    assert refused.traceback[-1].path.name == "test_struct_types.py"
