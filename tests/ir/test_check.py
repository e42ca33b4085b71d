"""Every rule of the IR's checker, violated once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dsim.ir.build import TRUE, index
from dsim.ir.check import InvalidKernel, check
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Block,
    Call,
    Const,
    Derive,
    For,
    If,
    KernelIR,
    Let,
    Load,
    LogMark,
    Memory,
    Print,
    RollBack,
    Rule,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.types import f32, f64, i32, i64, u1, u8

X = Memory("x", f32, (4, 2), entry_axes=1)
N, M = Memory("n", i32, ()), Memory("m", u1, ())
A, B, C, J = Var("a", f32), Var("b", f32), Var("c", u1), Var("i", i32)
ONE, ZERO = Const(1.0, f32), index(0)
BUFFER = Memory("buffer", f32, (3, None), private=True)
LOG = Memory("log", f32, (None,), private=True)
START, T = UndoLog(LOG, X), Var("t", i64)


def kernel(*statements: Statement, yields: tuple = ()) -> KernelIR:
    return KernelIR("k", (Var("p", f32), Var("q", i32), Var("c0", u1)), (X, N, M), Block(statements, yields))


P, Q, C0 = kernel().params
LOOP = For(
    J,
    ZERO,
    index(4),
    1,
    Block((Let(B, "add", (A, ONE)),), (B, C)),
    (A, C),
    (ONE, TRUE),
    (Var("r", f32), Var("s", u1)),
)
SQUARE = Derive("jvp", (A,), Block((Let(B, "mul", (A, A)),), (B,)), (P,), (ONE,), (Var("d", f32),))
CALLED = Call(
    "f",
    (A,),
    Block((Let(B, "mul", (A, A)),), (B, ZERO)),
    (P,),
    (Var("d", f32), Var("k", i32)),
    Rule((Var("a1", f32), Var("v", f32), Var("d1", f32), Var("k1", i32)), Block((), (Var("v", f32),))),
    Rule((Var("a2", f32), Var("w", f32), Var("d2", f32), Var("k2", i32)), Block((), (Var("w", f32),))),
)


@pytest.mark.parametrize(
    "statements",
    [
        (Let(A, "add", (P, ONE)), Let(B, "mul", (A, A))),
        (Load(A, X, (Q, ZERO)), Store(X, (Q, index(1)), A), Accumulate(X, (Q, Const(1, i64)), A, "min", B)),
        (Accumulate(M, (), TRUE, "bor"), Accumulate(N, (), index(1), "band")),
        (Alloc(BUFFER, (index(3), Q)), Store(BUFFER, (Q, Q), P)),
        (
            If(C0, Block((), (P,)), Block((Let(B, "neg", (P,)),), (B,)), (A,)),
            Print(("a = ", A), formats=(":.2f",)),
            Assert(C0, ("a", A)),
        ),
        (LOOP, Let(Var("t", f32), "neg", (LOOP.results[0],))),
        (replace(LOOP, goes_on=C, step=-1),),
        (While(Block((), (C,)), LOOP.body, LOOP.carried, LOOP.init, LOOP.results),),
        (SQUARE,),
        (replace(SQUARE, mode="vjp"),),
        (CALLED, Let(Var("t", f32), "neg", (CALLED.results[0],))),
        (replace(CALLED, vjp=None),),
        (
            START,
            LogMark(T, LOG),
            Append(LOG, X, (Q, ZERO)),
            RollBack(LOG, X, T),
            RollBack(LOG, X, Const(0, i64)),
        ),
        (Let(J, "cast", (P,)), Let(A, "bit_cast", (J,)), Let(B, "powi", (A, Const(2, u8)))),
    ],
)
def test_what_keeps_the_rules_passes(statements: tuple[Statement, ...]) -> None:
    check(kernel(*statements))


@pytest.mark.parametrize(
    ("why", "statements"),
    [
        ("b is not bound here", (Let(A, "neg", (B,)),)),
        ("a is bound twice", (Let(A, "neg", (P,)), Let(A, "neg", (P,)))),
        ("p is a f32, not a f64", (Let(Var("t", f64), "neg", (Var("p", f64),)),)),
        ("b is not bound here", (LOOP, Print((B,)))),
        ("2 formats for 1 values", (Print(("a = ", Const(1, i32)), formats=("", "")),)),
        ("a is bound twice", (LOOP, Let(A, "neg", (P,)))),
        ("i is not bound here", (LOOP, Print((J,)))),
        ("no primitive sinus", (Let(A, "sinus", (P,)),)),
        ("takes 2 arguments", (Let(A, "add", (P,)),)),
        ("different types", (Let(A, "add", (P, Q)),)),
        ("does not take", (Let(A, "sin", (Q,)),)),
        ("result:", (Let(A, "lt", (P, P)),)),
        ("different widths", (Let(Var("t", f64), "bit_cast", (Q,)),)),
        ("1 is not a f32", (Print((Const(1, f32),)),)),
        ("300 is not a u8", (Print((Const(300, u8),)),)),
        ("True is not a i32", (Print((Const(True, i32),)),)),
        ("1 indices for 2 axes", (Load(A, X, (ZERO,)),)),
        ("index p is a f32", (Load(A, X, (ZERO, P)),)),
        ("loaded value", (Load(Var("t", i32), X, (ZERO, ZERO)),)),
        ("written value", (Store(X, (ZERO, ZERO), ZERO),)),
        ("written value", (Accumulate(N, (), ONE),)),
        ("old value", (Accumulate(N, (), ZERO, "add", A),)),
        ("bor of a f32", (Accumulate(X, (ZERO, ZERO), ONE, "bor"),)),
        ("add of a u1", (Accumulate(M, (), TRUE),)),
        ("does not exist here", (Load(A, Memory("y", f32, ()), ()),)),
        ("declared otherwise", (Load(A, Memory("x", f32, (4,)), (ZERO,)),)),
        ("does not exist here", (Store(BUFFER, (ZERO, ZERO), P),)),
        (
            "does not exist here",
            (If(C0, Block((Alloc(BUFFER, (index(3), Q)),)), Block(())), Load(A, BUFFER, (Q, Q))),
        ),
        ("made twice", (Alloc(BUFFER, (index(3), Q)), Alloc(BUFFER, (index(3), Q)))),
        ("not private", (Alloc(X, (index(4), index(2))),)),
        ("another number of axes", (Alloc(BUFFER, (Q,)),)),
        ("of an axis of 3", (Alloc(BUFFER, (Q, Q)),)),
        ("length 2u8", (Alloc(replace(BUFFER, shape=(2, 2)), (Const(2, u8), Const(2, i64))),)),
        ("condition", (If(Q, Block(()), Block(())),)),
        ("yields", (If(C0, Block((), (P,)), Block(()), (A,)),)),
        ("condition", (Assert(P),)),
        ("initial values", (replace(LOOP, init=(ONE,)),)),
        ("results", (replace(LOOP, results=()),)),
        ("yields", (replace(LOOP, body=Block((), (TRUE, TRUE))),)),
        ("range", (replace(LOOP, stop=Const(4, i64)),)),
        ("loop index i", (replace(LOOP, index=Var("i", f32)),)),
        ("step of 0", (replace(LOOP, step=0),)),
        ("goes_on", (replace(LOOP, goes_on=A),)),
        ("goes_on", (replace(LOOP, goes_on=C0),)),
        ("condition", (While(Block((), (A,)), LOOP.body, LOOP.carried, LOOP.init, LOOP.results),)),
        ("seeds", (replace(SQUARE, seeds=()),)),
        ("results", (replace(SQUARE, results=()),)),
        ("arguments", (replace(SQUARE, args=(Q,)),)),
        ("arguments", (replace(CALLED, args=(Q,)),)),
        ("no float", (replace(CALLED, params=(J,), args=(Q,), body=Block((), (ONE, ZERO))),)),
        ("results", (replace(CALLED, results=()),)),
        ("params", (replace(CALLED, jvp=replace(CALLED.jvp, params=(Var("v", f32),))),)),
        ("derivatives", (replace(CALLED, vjp=replace(CALLED.vjp, body=Block(()))),)),
        ("a1 is not bound", (replace(CALLED, vjp=replace(CALLED.vjp, body=Block((), (Var("a1", f32),)))),)),
        (
            "a derived function writes",
            (replace(CALLED, body=Block((Store(X, (ZERO, ZERO), A),), (A, ZERO))),),
        ),
        ("a derived function writes", (replace(SQUARE, body=Block((Store(X, (ZERO, ZERO), A),), (A,))),)),
        ("does not exist here", (Append(LOG, X, (ZERO, ZERO)),)),
        ("no undo log", (Alloc(BUFFER, (index(3), Q)), LogMark(T, BUFFER))),
        ("no elements", (START, Load(A, LOG, (ZERO,)))),
        ("not private", (UndoLog(replace(LOG, private=False), X),)),
        ("of a known shape", (UndoLog(replace(LOG, shape=(3,)), X),)),
        ("an undo log of f32 for i32", (UndoLog(LOG, N),)),
        ("made twice", (START, START)),
        ("not an undo log of n", (START, RollBack(LOG, N, Const(0, i64)))),
        ("1 indices for 2 axes", (START, Append(LOG, X, (ZERO,)))),
        ("mark", (START, LogMark(J, LOG))),
        ("mark", (START, RollBack(LOG, X, ZERO))),
    ],
)
def test_what_breaks_a_rule_is_refused(why: str, statements: tuple[Statement, ...]) -> None:
    with pytest.raises(InvalidKernel) as refused:
        check(kernel(*statements))
    assert why in str(refused.value)


def test_a_yield_of_the_kernel_is_checked() -> None:
    with pytest.raises(InvalidKernel, match="a is not bound"):
        check(kernel(yields=(A,)))


def test_a_kernel_declares_what_it_touches() -> None:
    with pytest.raises(InvalidKernel, match="private"):
        check(replace(kernel(), memories=(replace(X, private=True),)))
    with pytest.raises(InvalidKernel, match="made twice"):
        check(replace(kernel(), memories=(X, X)))
    with pytest.raises(InvalidKernel, match="unknown shape"):
        check(replace(kernel(), memories=(replace(X, shape=(None, 2)),)))
    with pytest.raises(InvalidKernel, match="a variable and a memory"):
        check(replace(kernel(), memories=(replace(X, name="p"),)))


def test_a_primal_and_its_companions_share_a_name() -> None:
    bar = replace(X, derivative=("bar",))
    check(replace(kernel(Accumulate(bar, (ZERO, ZERO), P)), memories=(X, bar)))


def test_the_refusal_prints_the_statement() -> None:
    with pytest.raises(InvalidKernel) as refused:
        check(kernel(Let(A, "neg", (B,))))
    assert str(refused.value) == "b is not bound here, in\na: f32 = neg b"
