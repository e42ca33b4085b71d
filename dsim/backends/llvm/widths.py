"""How wide the vectors of a function may be: no wider than its longest loop is long.

Code for wider ones would never run, and takes LLVM as long as all other code of the function.
"""

from __future__ import annotations

from dsim.backends.llvm.cost import known_trips
from dsim.ir.nodes import Block, For, While
from dsim.ir.walk import statements

SHORTEST = 4  # lanes of the shortest vector that is faster than scalar code
_WIDTHS = ((8, 128), (16, 256))  # with fewer trips than this, vectors of so many bits


def preferred(block: Block) -> str:
    """LLVM's attribute for a function that runs `block`; empty where any width may be of use."""
    longest = 0
    for s in statements(block):
        if isinstance(s, For):
            trips = known_trips(s)
            if trips is None:
                return ""
            longest = max(longest, trips)
        elif isinstance(s, While):
            return ""
    width = next((bits for limit, bits in _WIDTHS if longest < limit), None) if longest else None
    return "" if width is None else f' "prefer-vector-width"="{width}"'
