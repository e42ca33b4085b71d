"""The methods of `scipy.optimize.minimize` that use gradients."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from scipy.optimize import Bounds, OptimizeWarning, minimize

from dsim.optimization.blas_threads import BLAS_THREADS
from dsim.optimization.points import Iterate

BOUNDED = ("L-BFGS-B", "TNC", "SLSQP", "trust-constr")
_SECOND_ORDER = ("Newton-CG", "trust-ncg", "trust-krylov")
NAMES = ("L-BFGS-B", "BFGS", "CG", "TNC", "SLSQP", "trust-constr", *_SECOND_ORDER)
_MANY = 1 << 30
_PRINTING = ("disp", "iprint", "verbose")
_UNKNOWN = "Unknown solver options: "


class Problem(Protocol):
    """What a method minimises."""

    bounds: Bounds | None
    tolerance: float | None

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss and its gradient."""
        ...

    def hessp(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The product of the Hessian with a vector."""
        ...

    def accept(self, point: Iterate, /) -> None:
        """A step ends there."""
        ...


class ScipyMethod:
    """One of SciPy's methods. It keeps what it knows to itself: going on begins anew at the present point.

    Parameters
    ----------
    name : str
        Its name in SciPy.
    options : mapping
        Its options in SciPy.
    """

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name = name
        self._options = {"maxiter": _MANY, **options}
        if name in ("L-BFGS-B", "TNC"):
            self._options.setdefault("maxfun", _MANY)
        if name == "TNC":
            self._options.pop("maxiter")

    def wrong_options(self) -> str:
        """What SciPy has against the options, as a trial on one number shows; empty when it takes them."""
        quiet = {key: value for key, value in self._options.items() if key not in _PRINTING}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", OptimizeWarning)
                minimize(
                    lambda x: (float(x[0] ** 2), 2.0 * x),
                    np.ones(1),
                    jac=True,
                    method=self.name,
                    options={**quiet, "maxiter": 2} if "maxiter" in quiet else quiet,
                    **self._second_order(lambda _, p: 2.0 * p),
                )
        except OptimizeWarning as error:
            unknown = str(error).removeprefix(_UNKNOWN)
            return f"has no option `{unknown}`" if unknown != str(error) else ""
        except TypeError as error:
            clash = re.search(r"(?:multiple values for|unexpected keyword) argument '(\w+)'", str(error))
            return f"has no option `{clash[1]}`" if clash else f"does not take these options: {error}"
        except Exception:  # noqa: BLE001 (such as the shape of a matrix, which is that of the real problem)
            return ""
        return ""

    def start(self, size: int) -> dict[str, np.ndarray]:
        """No state."""
        return {}

    def run(self, problem: Problem, point: Iterate) -> str:
        """Minimises; gives what SciPy says at its end."""
        known: dict[bytes, Iterate] = {}
        now = point

        def value(x: np.ndarray) -> tuple[float, np.ndarray]:
            if np.array_equal(x, now.x):
                return now.loss, now.gradient.copy()
            with BLAS_THREADS.lifted():
                loss, gradient = problem.evaluate(x)
            known[x.tobytes()] = Iterate(x.copy(), loss, gradient.copy())
            return loss, gradient

        def step(x: np.ndarray) -> None:
            nonlocal now
            if not np.array_equal(x, now.x):
                now = known.get(x.tobytes()) or Iterate(x.copy(), *problem.evaluate(x))
            known.clear()
            problem.accept(now)

        def stepped(x: np.ndarray, *_: Any) -> None:
            with BLAS_THREADS.lifted():
                step(x)

        def product(x: np.ndarray, p: np.ndarray) -> np.ndarray:
            with BLAS_THREADS.lifted():
                return problem.hessp(x, p)

        with BLAS_THREADS.single():
            found = minimize(
                value,
                point.x.copy(),
                jac=True,
                method=self.name,
                bounds=self._bounds(problem.bounds),
                tol=problem.tolerance,
                callback=stepped,
                options=self._options,
                **self._second_order(product),
            )
        if not np.array_equal(found.x, now.x):
            step(found.x)
        return str(found.message)

    def _bounds(self, bounds: Bounds | None) -> Bounds | None:
        if bounds is None or self.name != "trust-constr":
            return bounds
        return Bounds(bounds.lb, bounds.ub, keep_feasible=True)  # type: ignore[arg-type]

    def _second_order(self, product: Callable[..., np.ndarray]) -> dict[str, Any]:
        return {"hessp": product} if self.name in _SECOND_ORDER else {}
