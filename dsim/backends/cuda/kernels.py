"""From a kernel to its grid form for NVIDIA's devices."""

from __future__ import annotations

from dsim.analysis.bounds import Bounds
from dsim.analysis.effects import Effects
from dsim.backends.cuda.target import CudaTarget
from dsim.backends.llvm.grid.emit import emit
from dsim.backends.llvm.grid.module import GridModule
from dsim.backends.llvm.kernel import Strides, Wishes
from dsim.ir.nodes import KernelIR

_TARGET = CudaTarget()


def emit_kernel(
    kernel: KernelIR,
    bounds: Bounds | None = None,
    *,
    checked: bool = False,
    strides: Strides | None = None,
    deterministic: bool = False,
    facts: Effects | None = None,
) -> GridModule:
    """Writes `kernel`, which has no `Derive` and no `Call` nodes, for a device.

    Parameters
    ----------
    kernel : KernelIR
        What to write.
    bounds : Bounds, optional
        The results of bounds analysis. Without them no access is checked.
    checked : bool
        Whether to check what is in bounds only under the `bounds`' conditions on the parameters.
    strides : mapping, optional
        Element strides of memories that are not in C order.
    deterministic : bool
        Whether results must not depend on the order of threads.
    facts : Effects, optional
        The effects of this kernel, if already computed.
    """
    safe = ("proved",) if checked else ("proved", "launch")
    sites = bounds.sites if bounds is not None else None

    def unchecked(site: int) -> bool:
        return sites is None or sites.get(site, "checked") in safe

    wishes = Wishes(
        unchecked, checks=sites is not None, strides=dict(strides or {}), deterministic=deterministic
    )
    return emit(kernel, _TARGET, wishes, facts)
