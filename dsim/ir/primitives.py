"""The table of primitives: each with every fact about it, written once for all users.

`primitive.py` defines the columns; the rows are in `operators.py` and `functions.py`. A derivative is
given as products: ``times[i]`` maps the arguments, the result and a factor `t` to ``(∂ result / ∂ argument
i) · t``, as formulas over this same table. Forward mode substitutes the argument's tangent for `t` and sums;
reverse mode substitutes the result's adjoint. `None` is a derivative that is zero wherever it exists.

Where a partial can be infinite the product is `mul_strong`, which is 0 if `t` is 0, so that a value
with adjoint 0 cannot turn a gradient into NaN (0 · ∞).
"""

from __future__ import annotations

from dsim.ir.functions import FUNCTIONS
from dsim.ir.operators import ARITHMETIC, TRUTH
from dsim.ir.primitive import Primitive

TABLE: dict[str, Primitive] = {row.name: row for row in (*ARITHMETIC, *FUNCTIONS, *TRUTH)}
