"""What the steps of a loop launched: no values, only forms and arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import AdjointForm, Form
from dsim.runtime.saving.entries import Args, Custom, RecordedLaunch
from dsim.runtime.saving.save_policy import RecordingPlan

Launched = tuple[RecordingPlan, Args]
Logged = Launched | Custom


class LaunchNotes(Protocol):
    """What is told of the launches after a function whose backward pass names the fields that it reads."""

    def ends(self, call: Custom) -> None:
        """`call` ends here."""
        ...

    def after(self, call: RecordedLaunch) -> None:
        """A launch is over."""
        ...

    def clear(self) -> None:
        """What was noted is undone."""
        ...


class StepLog:
    """The steps of a loop, as a tape has them.

    Attributes
    ----------
    steps : list of tuple
        For each step its launches, and its functions with gradients of their own, each behind its launches.
        Equal steps are one tuple.
    blocks : dict
        By field, the free memory for saved values of tapes in these steps, which fill it again.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[Logged, ...]] = []
        self.blocks: dict[Field, list[Any]] = {}
        self._open: list[Logged] = []
        self._plans: dict[RecordingPlan, None] = {}

    def launched(self, plan: RecordingPlan, args: Args) -> None:
        """Notes a launch of the step that is open."""
        self._open.append((plan, args))
        self._plans[plan] = None

    def called(self, call: Custom) -> None:
        """Notes that the last launches were a function with a gradient of its own."""
        self._open.append(call)

    def end_step(self) -> None:
        """The step that is open is over."""
        step = tuple(self._open)
        self.steps.append(self.steps[-1] if self.steps and self.steps[-1] == step else step)
        self._open = []

    @property
    def in_step(self) -> bool:
        """Whether the step that is open has launched anything."""
        return bool(self._open)

    def __len__(self) -> int:
        return len(self.steps)

    # -- facts

    @property
    def adjoints(self) -> Iterator[AdjointForm]:
        """The adjoints of its launches."""
        return (plan.adjoint for plan in self._plans if plan.adjoint is not None)

    def kinds(self, most: int) -> list[tuple[Logged, ...]]:
        """Up to so many different steps, of each sequence of kernels at least one as far as they go."""
        distinct = list(dict.fromkeys(self.steps))
        first = {tuple(c if isinstance(c, Custom) else c[0] for c in s): s for s in reversed(distinct)}
        return list(dict.fromkeys((*first.values(), *distinct)))[:most]

    @property
    def forms(self) -> Iterable[Form]:
        """What was launched."""
        return dict.fromkeys(plan.form for plan in self._plans)

    @property
    def native(self) -> Iterable[Form]:
        """What ran in their places."""
        return dict.fromkeys(form_to_run(plan) for plan in self._plans)

    def fields(self) -> Iterator[Field]:
        """The fields that it touches."""
        return iter(dict.fromkeys(f for form in self.forms for f in form.touching))

    def written(self) -> Iterator[Field]:
        """Those that it writes."""
        return iter(dict.fromkeys(f for form in self.forms for f in form.written))


def form_to_run(plan: RecordingPlan) -> Form:
    """What is launched for a plan's form."""
    return plan.form if plan.adjoint is None else plan.adjoint.launched
