"""The messages about misused structs."""

from dsim.frontend.source.struct_types import StructTypeBase
from tests.frontend.balls import Ball, Spin, said
from tests.frontend.dialect import f, refused, structs, ti


def test_members_that_are_not_there() -> None:
    balls = structs(Ball, 3)

    def read(b: Ball) -> float:
        return b.mas

    def written(b: Ball):
        b.spin.rat = 1.0

    def anonymous():
        p = ti.Struct(a=1.0)
        p.zeta += 1.0

    def of_an_element():
        balls[0].positon = 1.0

    def of_the_field() -> float:
        return balls.velocity[0]

    def made():
        b = Ball(weight=1.0)

    its = "its members are `pos`, `mass`, `hits`, `spin`"
    assert said(read) == ("b.mas", "a `Ball` has no member `mas`", f"did you mean `mass`? I{its[1:]}")
    assert said(written) == (
        "b.spin.rat",
        "a struct of `axis`, `rate` has no member `rat`",
        "did you mean `rate`? Its members are `axis`, `rate`",
    )
    assert said(anonymous) == (
        "p.zeta", "a struct of `a` has no member `zeta`", "its members are `a`",
    )  # fmt: skip
    assert said(of_an_element) == (
        "balls[0].positon",
        "an element of `balls` has no member `positon`",
        f"did you mean `pos`? I{its[1:]}",
    )
    assert said(of_the_field) == (
        "balls.velocity", "the struct field `balls` has no member `velocity`", its,
    )  # fmt: skip
    assert said(made) == ("Ball(weight=1.0)", "`Ball` has no member `weight`", its)


def test_wrong_arguments() -> None:
    def too_many():
        b = Ball(1.0, 2.0, 3, Spin(), 5.0)

    def twice():
        b = Ball(1.0, pos=2.0)

    def wrong_shape():
        b = Ball(pos=[1.0, 2.0, 3.0])

    def vector_for_number():
        b = Ball(mass=[1.0, 2.0])

    def number_for_struct():
        b = Ball(spin=1.0)

    def nothing():
        b = ti.Struct()

    def no_struct(b: Ball) -> float:
        return energy(b.spin)

    @ti.func
    def energy(b: Ball):
        return b.mass

    assert said(too_many)[1:] == (
        "`Ball` takes 4 members, got 5",
        "its members are `pos`, `mass`, `hits`, `spin`",
    )
    assert said(twice)[1] == "`Ball` got the member `pos` twice"
    assert said(wrong_shape)[1] == "`Ball.pos` is a vector of 2, got a list of 3"
    assert said(vector_for_number)[1] == "`Ball.mass` is a number, got a list of 2"
    assert said(number_for_struct)[1:] == (
        "`Ball.spin` is a struct of `axis`, `rate`, got a float",
        "give a struct of `axis`, `rate`",
    )
    assert said(nothing)[1:] == ("a struct needs at least one member", "`Struct(a=1.0, b=2.0)`")
    assert said(no_struct)[1] == "`b` is a `Ball`, got a struct of `axis`, `rate`"


def test_a_struct_is_no_number() -> None:
    balls = structs(Ball, 3)

    def assigned(b: Ball):
        b = 1.0

    def stored():
        balls[1] = 1.0

    def stored_member(b: Ball):
        b.spin = 2.0

    def sum_(b: Ball, c: Ball):
        d = b + c

    def scaled():
        balls[0] *= 2.0

    def added(b: Ball):
        balls[0] += b

    def equal(b: Ball, c: Ball) -> ti.i32:
        return b == c

    def condition(b: Ball):
        if b:
            b.mass = 1.0

    def indexed(b: Ball) -> float:
        return b[0]

    def number_of_number(b: Ball):
        b.mass.x = 1.0

    its = "`pos`, `mass`, `hits`, `spin`"
    one = f"assign a struct of {its}, or one member: `b.pos = …`"
    assert said(assigned)[1:] == (
        "`b` is a `Ball`, and a local keeps its type; the right side is a float",
        one,
    )
    assert said(stored) == (
        "balls[1]",
        f"an element of `balls` is a struct of {its}; the right side is a float",
        "assign a struct with these members, or one member: `balls[…].pos = …`",
    )
    assert said(stored_member)[1:] == (
        "`b.spin` is a struct of `axis`, `rate`, and a local keeps its type; the right side is a float",
        "assign a struct of `axis`, `rate`, or one member: `b.spin.axis = …`",
    )
    assert said(sum_) == ("b + c", "`+` does not work on a `Ball`", f"compute with its members: {its}")
    assert said(scaled)[1:] == ("`*` does not work on a `Ball`", f"compute with its members: {its}")
    assert said(added)[1:] == ("`+` does not work on a `Ball`", f"compute with its members: {its}")
    assert said(equal)[1:] == ("`==` does not work on a `Ball`", f"compute with its members: {its}")
    assert said(condition)[1] == "a `Ball` cannot be a condition"
    assert said(indexed) == ("b[0]", "a `Ball` has no elements", "name a member: `p.x`")
    assert said(number_of_number)[1] == "`b.mass` is an f64, and has no parts"


def test_two_branches_of_different_kinds() -> None:
    def k(n: ti.i32) -> float:
        if n > 0:
            p = ti.Struct(a=1.0)
        else:
            p = ti.Struct(b=1.0)
        return p.a

    message = "unknown-name: `p` is a struct of `a` in one branch and a struct of `b` in the other"
    assert message in refused(k)


def test_methods_that_cannot_change_their_struct() -> None:
    def through_a_local_func(b: Ball):
        @ti.func
        def g():
            b.push(1.0)

        g()

    @ti.func
    def itself(b):
        return b

    def of_a_result(b: Ball):
        itself(b).push(1.0)

    def of_an_item(a: Ball, b: Ball):
        for c in ti.static([a, b]):
            c.push(1.0)

    def in_a_comprehension(a: Ball, b: Ball) -> float:
        bounced = [c.bounce(0.0) for c in [a, b]]
        return bounced[0]

    def in_a_condition(b: Ball):
        while b.bounce(0.0) > 0.0:
            pass

    assert said(through_a_local_func)[:2] == (
        "b.push(1.0)", "`push` changes its struct, and a `Ball` cannot be changed here",
    )  # fmt: skip
    assert said(of_a_result)[:2] == (
        "itself(b).push(1.0)", "`push` changes its struct, and a `Ball` cannot be changed here",
    )  # fmt: skip
    for function in (of_an_item, in_a_comprehension):
        assert said(function)[1] == "`c` is an item of a sequence: changing it here would change a copy only"
    assert said(in_a_condition)[1] == "the condition of a loop cannot change `b`"


def test_fields_that_are_not_placed_together() -> None:
    balls = structs(Ball, 3)
    balls.members["mass"] = f(4)

    def k():
        balls[0].pos.x = 1.0

    assert said(k) == (
        "balls[0]",
        "the members of `balls` are not all placed with one shape",
        "give it a shape, or `root.dense(…).place(balls)`",
    )


def test_methods_are_called_where_they_are_named() -> None:
    def kept(b: Ball):
        push = b.push
        b = Ball()
        push(1.0)

    @ti.func
    def with_a_method(push):
        b = Ball()
        push(1.0)
        return b.mass

    def passed(b: Ball) -> float:
        return with_a_method(b.push)

    @ti.func
    def with_fill(fill):
        v = ti.Vector([1.0, 2.0])
        fill(3.0)
        return v[0]

    def filled() -> float:
        v = ti.Vector([1.0, 2.0])
        return with_fill(v.fill)

    for function, name in ((kept, "push"), (passed, "push"), (filled, "fill")):
        assert said(function)[1:] == (
            f"the method `{name}` can only be called, not stored or passed",
            f"write the call, `….{name}(…)`",
        )


def test_types_of_members_that_are_none() -> None:
    Odd = StructTypeBase((("name", str), ("x", float)), name="Odd")

    def given():
        p = Odd(name=1)

    def missing():
        p = Odd(x=1.0)

    advice = "give it a type of numbers, vectors, matrices or structs"
    for function, where in ((given, "Odd(name=1)"), (missing, "Odd(x=1.0)")):
        assert said(function) == (
            where, "`Odd.name` has no type that kernels know, but <class 'str'>", advice,
        )  # fmt: skip
