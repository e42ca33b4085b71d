"""Prints and assertions in kernels, and the display of errors."""

from __future__ import annotations

import linecache

import pytest

from dsim.diagnostics import CompilationError, KernelSyntaxError, KernelTypeError
from dsim.frontend import lower
from dsim.ir.nodes import Assert, Print, Var
from dsim.ir.walk import statements
from tests.frontend.dialect import DOUBLE, f, lowered, refused, ti


def parts(function, kind) -> list[tuple]:
    found = [s for s in statements(lowered(function).kernel.body) if isinstance(s, kind)]
    return [tuple("#" if isinstance(p, Var) else p for p in s.parts) for s in found]


def test_print() -> None:
    x = f(2, entry=(2,))

    def k(a: float, n: ti.i32):
        print("a =", a, n)
        print(a, n, sep=", ", end="")
        print(f"{a}: {n + 1} {x[0]}")
        print()
        print(1, 2.5, (a, 3))

    assert parts(k, Print) == [
        ("a = ", "#", " ", "#"),
        ("#", ", ", "#"),
        ("#", ": ", "#", " [", "#", ", ", "#", "]"),
        (),
        ("1 2.5 (", "#", ", 3)"),
    ]
    ends = [s.end for s in statements(lowered(k).kernel.body) if isinstance(s, Print)]
    assert ends == ["\n", "", "\n", "\n", "\n"]


def test_assert() -> None:
    def k(a: float, n: ti.i32):
        assert a > 0.0
        assert a < 1.0, "too large"
        assert n == 3, f"n is {n}"
        assert n == 3, "n is %d, a is %.2f" % (n, a)
        assert n == 3, "n is {}".format(n)
        assert 1 < 2, "never"

    assert parts(k, Assert) == [
        (), ("too large",), ("n is ", "#"), ("n is ", "#", ", a is ", "#"), ("n is ", "#"),
    ]  # fmt: skip


def test_all_errors_at_once_in_the_order_of_the_text() -> None:
    x = f(3)

    def k(a: float):
        x[0] = b
        c = ti.nothing(a)
        x[1] = c + 1.0
        for i in range(3):
            x[i, 0] = 1.0
        x[2] = d

    with pytest.raises(CompilationError) as caught:
        lower(k, DOUBLE)
    assert [d.code for d in caught.value.diagnostics] == [
        "unknown-name",
        "unknown-attribute",
        "index",
        "unknown-name",
    ]
    lines = [d.span.line for d in caught.value.diagnostics]
    first = k.__code__.co_firstlineno
    assert lines == [first + 1, first + 2, first + 5, first + 6]


def test_how_an_error_looks() -> None:
    velocity = f(3)

    def k():
        for i in range(3):
            velocity[i] = velocty[i] * 2.0

    with pytest.raises(CompilationError) as caught:
        lower(k, DOUBLE)
    line = k.__code__.co_firstlineno + 2
    assert str(caught.value).splitlines() == [
        "error[unknown-name]: `velocty` is not defined",
        f"  --> {__file__}:{line}:27",
        f"{line} │             velocity[i] = velocty[i] * 2.0",
        f"{'':>{len(str(line))}} │                           ^^^^^^^",
        "help: did you mean `velocity`?",
    ]


total, table = f(), f(2, 3)
breakpoint = print  # a shell puts some of its own into the namespace


def test_a_local_that_hides_a_field() -> None:
    def no_index():
        for i in range(3):
            total += i

    def looped_over():
        for i, j in table:
            table = i

    assert refused(no_index) == (
        "unknown-name: `total` has no value yet: it is assigned in this function, so it is a local of it\n"
        "help: write to an element, as in `total[None] = …`, or give the local another name"
    )
    assert "help: write to an element, as in `table[i, j] = …`" in refused(looped_over)


def test_what_was_meant_is_no_builtin_that_kernels_do_not_have() -> None:
    def k():
        total[None] = brakpoint

    assert refused(k) == "unknown-name: `brakpoint` is not defined"


def test_columns_count_characters() -> None:
    größe = f(3)

    def k():
        größe[0] = größe[1] + größer[2]

    with pytest.raises(CompilationError) as caught:
        lower(k, DOUBLE)
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert span.text == "größer"


def test_what_stands_in_an_f_string_is_found() -> None:
    def k(a: float):
        print(a, f"x is {missing}")

    with pytest.raises(CompilationError) as caught:
        lower(k, DOUBLE)
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert span.text == 'f"x is {missing}"'


def test_text_from_elsewhere_has_right_lines() -> None:
    source = "\n\ndef k():\n    x[0] = 1.0\n    x[1] = missing\n"
    linecache.cache["<a cell>"] = (len(source), None, source.splitlines(True), "<a cell>")
    namespace = {"x": f(3)}
    exec(compile(source, "<a cell>", "exec"), namespace)
    with pytest.raises(CompilationError) as caught:
        lower(namespace["k"], DOUBLE)
    assert "<a cell>:5:12" in str(caught.value)


def test_no_source() -> None:
    namespace: dict = {}
    exec("def k():\n    pass\n", namespace)
    with pytest.raises(KernelSyntaxError, match="the source of `k` cannot be found"):
        lower(namespace["k"], DOUBLE)


def test_a_lambda_is_no_kernel() -> None:
    with pytest.raises(KernelSyntaxError, match="a kernel is not written as a `lambda`"):
        lower(lambda: None, DOUBLE)


def test_kinds_of_exceptions() -> None:
    x = f(3)

    def syntax():
        with x:
            pass

    def shape():
        x[0] = ti.Vector([1.0, 2.0])

    with pytest.raises(KernelSyntaxError):
        lower(syntax, DOUBLE)
    with pytest.raises(KernelTypeError):
        lower(shape, DOUBLE)
    with pytest.raises(TypeError):
        lower(shape, DOUBLE)


def test_what_python_has_and_kernels_have_not() -> None:
    x = f(3)

    def try_():
        try:
            x[0] = 1.0
        except ValueError:
            pass

    def with_():
        with x:
            x[0] = 1.0

    def global_():
        global y
        y = 1.0

    def raise_():
        raise ValueError

    def del_():
        a = 1.0
        del a

    def import_():
        import math

        x[0] = math.pi

    def class_():
        class A:
            pass

    def yield_():
        yield x[0]

    def dict_():
        a = {1: 1.0}
        x[0] = a[1]

    def generator():
        x[0] = sum(x[i] for i in range(3))

    def comprehension(n: ti.i32):
        a = [x[i] for i in range(n)]
        x[0] = a[0]

    def starred():
        a, *b = 1.0, 2.0, 3.0
        x[0] = a

    def identity():
        if x[0] is x[1]:
            x[0] = 1.0

    def annotated_only():
        a: float
        x[0] = 1.0

    wanted = {
        try_: "syntax: kernels have no `try`\nhelp: kernels raise no exceptions; test values with `if`",
        with_: "syntax: kernels have no `with`",
        global_: "syntax: kernels have no `global`\nhelp: write to a field",
        raise_: "syntax: kernels have no `raise`\nhelp: use `assert condition, message`",
        del_: "syntax: kernels have no `del`",
        import_: "syntax: kernels have no `import`",
        class_: "syntax: kernels have no `class`",
        yield_: "syntax: kernels have no yield",
        dict_: "syntax: a dictionary in a kernel is a struct",
        generator: "syntax: kernels have no generators",
        comprehension: "static: this must be known at compile time, but is an i32",
        starred: "syntax: kernels have no `*` in assignments",
        identity: "syntax: kernels have no `is`\nhelp: compare with `==`",
        annotated_only: "syntax: an annotated name needs a value",
    }
    for function, message in wanted.items():
        assert message in refused(function), function.__name__


def test_signatures() -> None:
    x = f(3)

    def missing(a):
        x[0] = a

    def odd(a: str):
        x[0] = 1.0

    def starred(*a):
        x[0] = 1.0

    def no_type(a: float):
        return a

    def no_value() -> float:
        x[0] = 1.0

    def not_every_way(a: float) -> float:
        if a > 0:
            return a

    def empty() -> float:
        return

    def wrong_shape() -> float:
        return ti.Vector([1.0, 2.0])

    def odd_result() -> str:
        return 1.0

    assert "argument: the parameter `a` has no type\nhelp: annotate it: `a: ds.f32`" in refused(missing)
    assert "a kernel cannot take a parameter of this type" in refused(odd)
    assert "a kernel takes no `*` parameters" in refused(starred)
    assert "return: the kernel `no_type` returns a value but declares no type" in refused(no_type)
    assert "`no_value` declares a result, but lacks one on some path" in refused(no_value)
    assert "`not_every_way` declares a result, but lacks one on some path" in refused(not_every_way)
    assert "return: this returns nothing, but `empty` declares an f64" in refused(empty)
    assert "return: this returns a vector of 2, but `wrong_shape` declares an f64" in refused(wrong_shape)
    assert "a kernel returns scalars, vectors, matrices and structs" in refused(odd_result)


def test_vector_parameters_and_results() -> None:
    def k(v: ti.types.vector(3, ti.f64), n: int) -> ti.types.vector(2, ti.f64):
        return ti.Vector([v.sum(), n])

    result = lowered(k)
    assert [p.name for p in result.kernel.params] == ["v_x", "v_y", "v_z", "n"]
    assert [(p.name, p.shape, len(p.vars)) for p in result.params] == [("v", (3,), 3), ("n", (), 1)]
    assert result.returns is not None
    assert result.returns.shape == (2,)


def test_what_would_compile_for_ever_is_refused() -> None:
    x = f(4)

    def written_out():
        for i in ti.static(range(1_000_000)):
            x[i % 4] += 1.0

    def huge():
        v = ti.Vector.zero(ti.f32, 100_000_000)
        x[0] = v[0]

    assert "would be unrolled 1000000 times; 20000 is the most" in refused(written_out)
    assert "a local vector or matrix has at most 4096 entries, this one 100000000" in refused(huge)


def test_an_error_without_a_place_of_its_own_has_the_statements() -> None:
    x = f(4)

    def paired():
        x[0] = zip(x, x)

    assert "cannot be iterated over at compile time" in refused(paired)
