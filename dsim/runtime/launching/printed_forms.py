"""A form's kernel as text: in the intermediate representation, as Python and as LLVM's assembly."""

from __future__ import annotations

from dsim.ir.nodes import Kernel, Origin
from dsim.ir.show import lines, show
from dsim.runtime.driver import pipeline
from dsim.runtime.driver.programs import Program


class PrintedForm:
    """What a form shows of its kernel."""

    program: Program

    @property
    def kernel(self) -> Kernel:
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

    def __str__(self) -> str:
        return self.ir
