"""Methods of first order with a fixed rate: gradient descent, momentum, Adam.

A method is a function of a gradient and a state to a step and the next state, so that a step which is
interrupted leaves nothing half done. Bounds are kept by projection: each step ends at the nearest point
inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

MethodState = Mapping[str, np.ndarray]


class StepRule(Protocol):
    """A rule that makes steps of gradients."""

    def start(self, size: int) -> dict[str, np.ndarray]:
        """The state before the first step in so many numbers."""
        ...

    def step(self, gradient: np.ndarray, state: MethodState) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The step, and the next state."""
        ...


@dataclass(frozen=True)
class Descent:
    """Steps against the gradient (Cauchy 1847, *Méthode générale pour la résolution des systèmes d'équations
    simultanées*): ``x - rate * g``.
    """  # noqa: D205

    rate: float = 0.01

    def start(self, size: int) -> dict[str, np.ndarray]:
        """Nothing is kept."""
        return {}

    def step(self, gradient: np.ndarray, state: MethodState) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The step, and the next state."""
        return -self.rate * gradient, {}


@dataclass(frozen=True)
class Momentum:
    """The heavy-ball method (Polyak 1964, *Some methods of speeding up the convergence of iteration methods*,
    equation 9): ``v = momentum * v - rate * g``, ``x + v``.
    """  # noqa: D205

    rate: float = 0.01
    momentum: float = 0.9

    def start(self, size: int) -> dict[str, np.ndarray]:
        """The velocity is 0."""
        return {"velocity": np.zeros(size)}

    def step(self, gradient: np.ndarray, state: MethodState) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The step, and the next state."""
        velocity = self.momentum * state["velocity"] - self.rate * gradient
        return velocity, {"velocity": velocity}


@dataclass(frozen=True)
class Adam:
    """Steps scaled by averages of gradients and of their squares (Kingma and Ba 2015, *Adam: a method for
    stochastic optimization*, arXiv:1412.6980, algorithm 1).
    """  # noqa: D205

    rate: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def start(self, size: int) -> dict[str, np.ndarray]:
        """Both averages are 0."""
        return {"mean": np.zeros(size), "square": np.zeros(size), "count": np.zeros(())}

    def step(self, gradient: np.ndarray, state: MethodState) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The step, and the next state."""
        count = state["count"] + 1
        mean = self.beta1 * state["mean"] + (1 - self.beta1) * gradient
        square = self.beta2 * state["square"] + (1 - self.beta2) * gradient**2
        unbiased = mean / (1 - self.beta1**count)
        scale = np.sqrt(square / (1 - self.beta2**count)) + self.epsilon
        return -self.rate * unbiased / scale, {"mean": mean, "square": square, "count": count}


RULES: dict[str, type[Descent | Momentum | Adam]] = {"descent": Descent, "momentum": Momentum, "Adam": Adam}
