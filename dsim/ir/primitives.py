"""THE table: every primitive, and everything that is true of it. Written once, used by all.

`primitive.py` says what a row holds; the rows stand in `operators.py` and `functions.py`. A derivative is
given as products: ``times[i]`` maps the arguments, the result and a factor `t` to ``(∂ result / ∂ argument
i) · t``, as formulas over this same table. Forward mode puts the argument's tangent for `t` and sums;
reverse mode puts the result's adjoint. `None` is a derivative that is zero everywhere it exists.

Where a partial can be infinite the product is `mul_strong`, which is 0 when `t` is 0, so that a value
that nothing depends on never turns a gradient into NaN.
"""

from __future__ import annotations

from dsim.ir.functions import FUNCTIONS
from dsim.ir.operators import ARITHMETIC, TRUTH
from dsim.ir.primitive import Primitive

TABLE: dict[str, Primitive] = {row.name: row for row in (*ARITHMETIC, *FUNCTIONS, *TRUTH)}
