"""Mutation tests: random programs of the affected kind find faults planted in dsim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dsim.api.kernels import Func
from dsim.autodiff.forward_mode import Tangents
from dsim.frontend.inlining import struct_methods
from dsim.ir.primitives import TABLE
from dsim.passes.rerolling import products
from dsim.runtime.fields.components import Component
from dsim.runtime.kernels import arguments, by_hand
from dsim.runtime.launching import shadow_arrays
from dsim.runtime.launching.contexts import dispatch
from dsim.runtime.launching.forms import Form
from tests.fuzz.running import KINDS, run
from tests.fuzz.trial import WrongNumberError

pytestmark = pytest.mark.usefixtures("quick_code")

PROGRAMS = 40  # within which each fault must be found

Patch = pytest.MonkeyPatch


def _changes_of_methods_are_lost(patch: Patch) -> None:
    patch.setattr(struct_methods, "_give_back", lambda *args: None)


def _casts_change_derivatives(patch: Patch) -> None:
    (right,) = TABLE["cast"].times
    patch.setitem(TABLE, "cast", replace(TABLE["cast"], times=(lambda x, z, t: right(x, z, t) * 1.001,)))


def _rules_are_not_taken(patch: Patch) -> None:
    patch.setattr(Func, "derivative", lambda func, **rules: func)


def _new_numbers_are_not_seen(patch: Patch) -> None:
    patch.setattr(arguments, "changed", lambda now, before: False)


def _views_share_nothing(patch: Patch) -> None:
    patch.setattr(shadow_arrays, "_shared", lambda known, other: ())


def _a_write_is_not_recorded(patch: Patch) -> None:
    def fill(self: Component, value: float) -> None:
        self.whole.require()[(..., *self.component)] = value

    patch.setattr(Component, "fill", fill)


def _nothing_is_refused(patch: Patch) -> None:
    def backward(form: Form, values: tuple[object, ...]) -> None:
        active = form.spread(by_hand._asked(form))
        dispatch(form.adjoint(active, "bar").form.guarded(), values)

    patch.setattr(by_hand, "backward", backward)


def _tangents_of_minima_are_wrong(patch: Patch) -> None:
    patch.setattr(Tangents, "_combined", lambda self, s, before, old: self.of(s.value) or old)


def _factors_of_rows_are_lost(patch: Patch) -> None:
    patch.setattr(products._Finder, "_all", lambda self, coefficients, factor: coefficients)


FAULTS: dict[str, tuple[Callable[[Patch], None], int]] = {
    "structs": (_changes_of_methods_are_lost, 1),
    "mixed": (_casts_change_derivatives, 1),
    "rules": (_rules_are_not_taken, 1),
    "redefined": (_new_numbers_are_not_seen, 2),
    "views": (_views_share_nothing, 3),
    "writes": (_a_write_is_not_recorded, 6),
    "hand": (_nothing_is_refused, 4),
    "layers": (_factors_of_rows_are_lost, 7),
    "forward": (_tangents_of_minima_are_wrong, 1),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_planted_fault_is_found(kind, monkeypatch):
    plant, seed = FAULTS[kind]
    plant(monkeypatch)
    with pytest.raises(WrongNumberError):
        run(PROGRAMS, seed, plans=(KINDS[kind][0].small,))
