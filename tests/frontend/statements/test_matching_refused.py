"""`match`: what is refused."""

import enum

from tests.frontend.dialect import f, refused, ti

x = f(6)
y = f(6)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@ti.dataclass
class Shape:
    kind: ti.i32
    size: float
    v: ti.math.vec2


def test_refusals() -> None:
    def vector():
        match ti.Vector([1.0, x[0]]):
            case 1.0:
                y[0] = 1.0

    def identity(i: ti.i32):
        match i:
            case True:
                y[0] = 1.0

    def enumeration(i: ti.i32):
        match i:
            case Colour.RED:
                y[0] = 1.0

    def number_type():
        match x[0]:
            case ti.f32():
                y[0] = 1.0

    def too_many():
        match Shape(1, x[0]):
            case Shape(_, _, _, _):
                y[0] = 1.0

    def twice():
        match Shape(1, x[0]):
            case Shape(_, kind=1):
                y[0] = 1.0

    def misspelt():
        match Shape(1, x[0]):
            case Shape(knid=1):
                y[0] = 1.0

    options = {"a": 1}

    def rest():
        match options:
            case {"a": _, **others}:
                y[0] = 1.0

    def field():
        match x:
            case [_, *_]:
                y[0] = 1.0

    def no_result(i):
        match i:
            case 0:
                return 1.0

    def without(i: ti.i32):
        y[0] = no_result(i)

    def gone(i: ti.i32):
        match (i % 2, i):
            case (0, n) if n > 2:
                y[0] = 1.0
            case _:
                y[0] = n

    wanted = {
        vector: "type: a vector of 2 cannot be compared with this\n"
        "help: index a field, as in `x[i]`; of a vector write the entries, `[a, b]`",
        identity: "type: an i32 is never `True` itself\n"
        "help: write `1`, or compare the number before: `match x != 0:`",
        enumeration: "type: an i32 never equals a member of an enumeration\n"
        "help: make it an `enum.IntEnum`, or write `.value`",
        number_type: "type: `ti.f32` is not a class\n"
        "help: `float()`, `int()` and `bool()` tell numbers apart; for a value write it without parentheses",
        too_many: "argument: `Shape` takes 3 patterns by position, got 4\n"
        "help: its members are `kind`, `size`, `v`",
        twice: "argument: the attribute `kind` has two patterns",
        misspelt: "unknown-attribute: a `Shape` has no member `knid`\nhelp: did you mean `kind`?",
        rest: "syntax: kernels have no `**` in patterns\nhelp: name the keys that you need",
        field: "type: the field `x` is no sequence\nhelp: match one element: `x[i]`",
        without: "return: `no_result` does not return a value on every path\n"
        "help: add `case _:` with a `return`",
        gone: "unknown-name: `n` has no value yet",
    }
    for function, message in wanted.items():
        assert message in refused(function), function.__name__
