"""The parameters of forward mode, and their directions: `param` and `seed` as the user passes them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError, LaunchTypeError
from dsim.runtime.fields import access
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.fields.struct_fields import StructField, has_floats

Direction = tuple[Field, np.ndarray]
_Given = tuple[Field, np.ndarray | None]  # None for a member that the seed of its struct leaves out


def directions(param: Any, seed: Any) -> list[Direction]:
    """The fields of `param`, and the direction in each.

    Raises
    ------
    GradientError
        When `param` is no field, or one without floats, or has two seeds for one, or the seeds do not fit.
    """
    params = _listed(param)
    if param is None or not params:
        raise GradientError(Diagnostic("argument", "FwdMode needs a param to differentiate by"))
    fields(params, "param")  # says what is wrong with them
    single = params[0] is param
    given = [seed] if single else [None] * len(params) if seed is None else _each(seed)
    if len(given) != len(params):
        message = f"{len(params)} params need {len(params)} seeds, got {len(given)}"
        advice = "pass `seed=` a list of arrays, one for each of `param=`"
        raise GradientError(Diagnostic("argument", message, help=advice))
    found: dict[Field, np.ndarray | None] = {}
    for field, array in (d for p, s in zip(params, given, strict=True) for d in _of(p, s)):
        known = found.get(field)
        if known is not None and array is not None:  # the second would replace the first
            message, advice = "param contains the same field twice", "name it once, with the sum of its seeds"
            raise GradientError(Diagnostic("argument", message, help=advice))
        found[field] = known if array is None else array
    return [(f, np.zeros(f.full_shape) if array is None else array) for f, array in found.items()]


def fields(given: Any, what: str) -> tuple[Field, ...]:
    """The float fields that `given` means: those of a struct field are its members."""
    return tuple(f for g in _listed(given) for f in _members(g, what))


def _listed(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, Sequence) else (given,)


def _each(seed: Any) -> list[Any]:
    """The seeds of several params; one that is no list is that of a single one."""
    try:
        return list(seed)
    except TypeError:
        return [seed]


def _members(given: Any, what: str) -> Iterator[Field]:
    if isinstance(given, StructField):
        found = [m for m in given.__dsim_struct_field__.values() if has_floats(m)]
        if not found:
            message = f"{what} must have floats, {given!r} has none"
            raise GradientError(Diagnostic("argument", message))
        for member in found:
            yield from _members(member, what)
        return
    if not isinstance(given, Field):
        message = f"{what} must be a field or a list of fields, not {kind_of(given)}"
        raise GradientError(Diagnostic("argument", message))
    given.require()
    if not given.dtype.is_float:
        message = f"{what} must be a float field, {given.quoted} holds {given.dtype}"
        raise GradientError(Diagnostic("argument", message))
    yield given


def _of(param: Any, seed: Any) -> Iterator[_Given]:
    if isinstance(param, StructField):
        yield from _of_struct(param, seed)
        return
    for f in _members(param, "param"):
        yield f, _one(f, seed)


def _of_struct(param: StructField, seed: Any) -> Iterator[_Given]:
    if isinstance(seed, StructField):
        seed = {k: m for k, m in seed.__dsim_struct_field__.items() if has_floats(m)}
    if not isinstance(seed, Mapping):
        got = "a direction is needed" if seed is None else f"got {kind_of(seed)} as a seed"
        advice = "pass `seed=` a dictionary of arrays, like that of `to_numpy()`; omitted members are 0"
        raise GradientError(Diagnostic("argument", f"{param!r}: {got}", help=advice))
    members = {k: m for k, m in param.__dsim_struct_field__.items() if has_floats(m)}
    for key in seed:
        if key not in members:
            known = ", ".join(f"`{k}`" for k in members)
            message = f"a seed for `{key}`, which is not a float member of {param!r}"
            raise GradientError(Diagnostic("argument", message, help=f"its float members are {known}"))
    for key, member in members.items():
        if isinstance(member, StructField):
            yield from _of_struct(member, seed.get(key, {}))
        else:
            yield member, _one(member, seed[key]) if key in seed else None


def _one(field: Field, seed: Any) -> np.ndarray:
    if seed is None:
        if math.prod(field.full_shape) != 1:
            message = f"{field.quoted} has shape {field.full_shape}: a direction is needed"
            raise GradientError(Diagnostic("argument", message, help="pass `seed=` an array of that shape"))
        return np.array(1.0)
    try:
        return _fitting(field, seed)
    except LaunchTypeError as wrong:
        message = f"`seed=`: {wrong.diagnostics[0].message}"
        advice = "a direction has the shape of the field's `to_numpy()`"
        raise LaunchTypeError(Diagnostic("argument", message, help=advice)) from None


def _fitting(field: Field, seed: Any) -> np.ndarray:
    if isinstance(seed, Field):
        array = seed.to_numpy().reshape(seed.full_shape)
    else:
        array = access.given_array(field, seed)
    if array.size == 1 and math.prod(field.full_shape) == 1:
        array = array.reshape(field.full_shape)
    return access.fitting_array(field, array)
