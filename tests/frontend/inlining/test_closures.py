"""Functions defined inside kernels and funcs: what they see, and when it is evaluated."""

from __future__ import annotations

import functools

from tests.frontend.dialect import agrees, f, refused, run, ti

x = f(4, values=[0.5, -1.25, 2.0, 3.0])
y = f(4)
shadowed = 100.0


def test_as_in_python() -> None:
    """Free names as they are at the call, defaults as they were at the definition."""

    def late():
        for i in range(4):
            s = x[i]
            g = lambda q: q * s  # noqa: B023, E731
            a = g(3.0)
            s = x[i] + 1.0
            y[i] = a + 10.0 * g(1.0)

    def defaults():
        for i in range(4):
            s = x[i]

            def g(q, c=s, *, d=2.0 * s):
                return q + 10.0 * c + 100.0 * d

            s = 0.0
            y[i] = g(s + 1.0) + g(1.0, 2.0) + g(1.0, d=3.0)

    def parameters_hide_names_around():
        for i in range(4):
            s = x[i]
            g = lambda s: s * s  # noqa: E731
            y[i] = g(2.0) + s

    def made_by_functions():
        def scaled(a):
            return lambda q: (a * q) ** 3

        def twice(g):
            def inner(q):
                return g(g(q))

            return inner

        for i in range(4):
            y[i] = twice(twice(scaled(0.5)))(x[i]) + scaled(x[i])(float(i))

    def decorated():
        def plus_one(g):
            return lambda q: g(q) + 1.0

        for i in range(4):

            @plus_one
            def g(q):
                return q * q

            y[i] = g(x[i])

    def partials():
        for i in range(4):
            g = functools.partial(lambda a, b, c: a + 10.0 * b + 100.0 * c, x[i], c=2.0)
            y[i] = g(3.0) + g(4.0, c=x[i])

    def stores():
        for i in range(4):

            def put(at, value):
                y[at] = value + x[at]

            put(i, 1.0)

    for program in (
        late, defaults, parameters_hide_names_around, made_by_functions, decorated, partials, stores
    ):  # fmt: skip
        agrees(program, [y])


def test_those_of_comprehensions() -> None:
    """The names of a comprehension are its functions' own, and hold its last items afterwards.

    Python 3.12 and 3.13 confuse the two `j`, against the language: `plain()` is no reference there.
    """
    j = 50

    def plain():
        late = [lambda q: q * 2.0**j for j in (1, 2, 3)]  # noqa: B023
        bound = [lambda q, j=j: q * 2.0**j for j in (1, 2, 3)]
        return late[0](1.0) + 10.0 * bound[0](1.0) + 100.0 * bound[2](1.0) + 1000.0 * j

    def k():
        y[0] = plain()

    run(k)
    assert y.values[0] == 8.0 + 20.0 + 800.0 + 50000.0


def test_annotations_are_those_of_funcs() -> None:
    def k(a: float):
        def g(q: ti.i32) -> float:
            return q * 0.5

        y[0] = g(a)

    run(k, 2.75)
    assert y.values[0] == 1.0


def test_a_name_around_is_never_that_of_the_module() -> None:
    def one_branch():
        for i in range(4):
            if x[i] > 0.0:
                shadowed = x[i]
            g = lambda q: q * shadowed  # noqa: B023, E731
            y[i] = g(1.0)

    def later():
        for i in range(4):
            g = lambda q: q * shadowed  # noqa: B023, E731
            y[i] = g(1.0)
            shadowed = 3.0

    def undefined():
        g = lambda: nowhere  # noqa: E731
        y[0] = g()

    assert "unknown-name: `shadowed` is assigned in one branch only" in refused(one_branch)
    assert "unknown-name: `shadowed` has no value yet" in refused(later)
    assert "unknown-name: `nowhere` is not defined" in refused(undefined)


def test_what_they_cannot_change() -> None:
    help = "\nhelp: a local function returns its new values: assign the result where you call it"

    def entry():
        v = ti.Vector([1.0, 2.0])

        def g():
            v[0] += 1.0

        g()

    def number():
        n = 1.0

        def g():
            n += 1.0
            return n

        y[0] = g() + n

    def nonlocal_():
        n = 1.0

        def g():
            nonlocal n
            n += 1.0

        g()
        y[0] = n

    def template(a: float):
        b = a

        def g(q: ti.template()):
            q += 1.0

        g(b)

    assert refused(entry) == f"type: `v` is a local of the function around: `g` cannot change it{help}"
    of_outer = "unknown-name: `n` is assigned in `g`, so it is not the local of the function around"
    assert refused(number) == f"{of_outer}{help}"
    assert refused(nonlocal_) == (
        "syntax: kernels have no `nonlocal`\n"
        "help: return the new value and assign it where you call, or write to a field"
    )
    assert "argument: `g` assigns to its template parameter `q`" in refused(template)


def test_other_refusals() -> None:
    def cached():
        @functools.cache
        def g(q):
            return q

        y[0] = g(1.0)

    def builtin():
        @abs
        def g(q):
            return q

        y[0] = g(1.0)

    def partial():
        g = functools.partial(ti.sin, 1.0)
        y[0] = g()

    def endless():
        def g(q):
            return g(q - 1.0)

        y[0] = g(1.0)

    laws = [lambda q: q, lambda q: 2.0 * q]

    def table(i: ti.i32):
        y[0] = laws[i](1.0)

    def choice():
        law = laws[0] if x[0] > 0.0 else laws[1]
        y[0] = law(1.0)

    def results(c):
        if c:
            return lambda q: q
        return lambda q: 2.0 * q

    def returned():
        y[0] = results(x[0] > 0.0)(1.0)

    def carried():
        law = laws[0]
        for _ in range(3):
            law = laws[1]
        y[0] = law(1.0)

    before = (
        "help: choose between what they return: `f(x) if c else g(x)`; which one runs must be known before"
    )
    assert refused(table) == (
        "static: a Python container can only be indexed at compile time\n"
        "help: write a `match` over the index, with a call in each case"
    )
    assert refused(choice).startswith("type: one choice is the function `<lambda>`, the other the function")
    assert refused(returned).startswith("return: one `return` gives a function, another a function")
    assert refused(carried).startswith("type: `law` is the function `<lambda>` before the loop and the")
    assert all(before in refused(k) for k in (choice, returned, carried))
    assert "unknown-function: kernels cannot call `cache`" in refused(cached)
    assert "unknown-function: `abs` decorates no local function" in refused(builtin)
    assert "argument: `partial` takes a func or a Python function" in refused(partial)
    assert "recursion: `g` calls itself" in refused(endless)


POWER = 5.0


def test_a_comprehension_may_have_a_name_of_the_module() -> None:
    """Since Python 3.12 it is among the locals of the function, whose own `POWER` it is not."""

    def plain():
        squares = [POWER**2 for POWER in (1.0, 2.0)]
        return squares[1] + 10.0 * POWER

    def k():
        y[0] = plain()

    run(k)
    assert y.values[0] == plain() == 54.0
