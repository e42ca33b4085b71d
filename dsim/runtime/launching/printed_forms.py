"""A form's kernel as text: in the intermediate representation, as Python, as LLVM's assembly and as PTX."""

from __future__ import annotations

from dsim.backends.cuda.architectures import OLDEST
from dsim.diagnostics.frames import outermost
from dsim.ir.nodes import KernelIR, Origin
from dsim.ir.show import lines, show
from dsim.runtime.driver import pipeline
from dsim.runtime.driver.programs import Program


class PrintedForm:
    """What a form shows of its kernel."""

    program: Program

    @property
    def kernel(self) -> KernelIR:
        """The kernel."""
        return self.program.kernel

    @property
    def ir(self) -> str:
        """The kernel in the intermediate representation, as text."""
        return show(self.kernel)

    @property
    def python(self) -> str:
        """The kernel as readable Python."""
        return pipeline.python_text(self.kernel)

    @property
    def ir_lines(self) -> list[tuple[str, Origin | None]]:
        """The lines of `ir`, each with its origin."""
        return [(line.text, line.origin) for line in lines(self.kernel)]

    @property
    def python_lines(self) -> list[tuple[str, Origin | None]]:
        """The lines of `python`, each with its origin."""
        return [(text, s and s.origin) for text, s in pipeline.python_lines(self.kernel)]

    @property
    def llvm(self) -> str:
        """The kernel as LLVM's assembly."""
        return pipeline.llvm_text(self.kernel, self.program.settings)

    @property
    @outermost
    def ptx(self) -> str:
        """The kernel as PTX, NVIDIA's assembly, for the oldest devices that dsim writes it for.

        Newer devices run it as well. It is for reading: dsim does not launch it yet.

        Raises
        ------
        DeviceError
            When the kernel calls mathematical functions, and libdevice is not installed.

        Examples
        --------
        >>> import dsim as ti
        >>> x = ti.field(ti.f32, shape=8)
        >>> @ti.kernel
        ... def double():
        ...     for i in x:
        ...         x[i] *= 2.0
        >>> text = double.primal.ptx
        >>> ".target sm_75" in text, "ld.global.b32" in text, "st.global.b32" in text
        (True, True, True)
        """
        return self.ptx_for(OLDEST)

    @outermost
    def ptx_for(self, architecture: str) -> str:
        """Like `ptx`, for devices of an architecture and newer ones.

        Parameters
        ----------
        architecture : str
            ``"sm_75"``, ``"sm_80"``, ``"sm_86"``, ``"sm_89"``, ``"sm_90"``, ``"sm_100"`` or ``"sm_120"``.

        Raises
        ------
        ArgumentError
            For another architecture.
        DeviceError
            When the kernel calls mathematical functions, and libdevice is not installed.
        """
        return pipeline.ptx_text(self.kernel, self.program.settings, architecture)

    def __str__(self) -> str:
        return self.ir
