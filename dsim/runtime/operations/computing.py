"""Operations compute only: a launch of theirs would be none of the program that is differentiated."""

from __future__ import annotations

from threading import get_ident

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.places import caller
from dsim.runtime.launching.contexts import Args, Context
from dsim.runtime.launching.forms import Form


class ComputesOnly(Context):
    """Refuses launches, and writes to fields, while the rule of an operation runs.

    Parameters
    ----------
    name : str
        What the operation and its rule are called.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def launch(self, form: Form, args: Args) -> Args:
        """Refuses it.

        Raises
        ------
        GradientError
            Always, in the thread of the rule.
        """
        if get_ident() != self._thread:
            return self.elsewhere(form, args)
        message = f"`{self._name}` launches a kernel, or writes to a field: an operation computes only"
        advice = "give back what it computes, and let kernels of the program write it"
        raise GradientError(Diagnostic("not-differentiable", message, caller(), help=advice))
