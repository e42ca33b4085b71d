"""The printed form, line by line."""

from __future__ import annotations

from dsim.ir.build import TRUE, const, index
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
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.show import show
from dsim.ir.sites import number
from dsim.ir.types import f32, f64, i32, i64, u1
from dsim.ir.walk import statements

X = Memory("x", f64, (4, 2), entry_axes=1)
BAR = Memory("x", f64, (4, 2), entry_axes=1, derivative=("bar", "dot"))
BUFFER = Memory("buffer", f32, (None,), private=True)
LOG, START = Memory("log", f64, (None,), private=True), Var("start", i64)
A, B, C, J, N = Var("a", f64), Var("b", f64), Var("c", u1), Var("i", i32), Var("n", i32)
D, E = Var("d", f64), Var("e", f64)

KERNEL = KernelIR(
    "step",
    (N,),
    (X, BAR),
    Block(
        (
            Alloc(BUFFER, (N,)),
            Store(BUFFER, (index(0),), Const(0.5, f32)),
            For(
                J,
                index(0),
                N,
                2,
                Block(
                    (
                        Load(B, X, (J, index(0))),
                        Let(D, "mul", (B, Const(2.0, f64))),
                        Let(Var("on", u1), "lt", (D, Const(10.0, f64))),
                        Accumulate(BAR, (J, index(1)), D, "max", E),
                    ),
                    (D, Var("on", u1)),
                ),
                (A, C),
                (Const(1.0, f64), TRUE),
                (Var("a_1", f64), Var("c_1", u1)),
                C,
            ),
            If(
                Var("c_1", u1),
                Block((Print(("a = ", Var("a_1", f64)), ""),), (Var("a_1", f64),)),
                Block((), (Const(0.0, f64),)),
                (Var("r", f64),),
            ),
            If(Var("c_1", u1), Block(()), Block(())),
            While(
                Block((), (Var("go", u1),)),
                Block((), (Const(False, u1),)),
                (Var("go", u1),),
                (TRUE,),
                (Var("w", u1),),
            ),
            UndoLog(LOG, X),
            LogMark(START, LOG),
            Append(LOG, X, (index(1), N)),
            RollBack(LOG, X, START),
            Derive("vjp", (Var("p", f64),), Block((), (Var("p", f64),)), (A,), (A,), (Var("g", f64),)),
            Call(
                "f",
                (Var("q", f64),),
                Block((), (Var("q", f64),)),
                (A,),
                (Var("y", f64),),
                vjp=Rule(
                    (Var("q1", f64), Var("y_bar", f64), Var("y1", f64)), Block((), (Var("y_bar", f64),))
                ),
            ),
            Assert(Var("w", u1), ("stopped",)),
        ),
        (Var("r", f64),),
    ),
)

TEXT = """\
kernel step(n: i32):
  memory x: f64[4, 2] entries 1
  memory x.bar.dot: f64[4, 2] entries 1
  alloc buffer: f32[?] of (n)
  buffer[0] = 0.5
  for i: i32 in 0..n by 2 carrying (a: f64 = 1.0f64, c: u1 = true) while c -> (a_1: f64, c_1: u1):
    b: f64 = x[i, 0]
    d: f64 = mul b, 2.0f64
    on: u1 = lt d, 10.0f64
    e: f64 = x.bar.dot[i, 1] max= d
    yield d, on
  if c_1 -> (r: f64):
    print 'a = ', a_1 end ''
    yield a_1
  else:
    yield 0.0f64
  if c_1:
    pass
  while carrying (go: u1 = true) -> (w: u1):
    yield go
  do:
    yield false
  undo_log log: f64[?] of x
  start: i64 = log_mark log
  append x[1, n] to log
  roll_back x by log to start
  vjp at (a) seeds (a) -> (g: f64) of (p: f64):
    yield p
  call f at (a) -> (y: f64) of (q: f64):
    yield q
  vjp of (q1: f64, y_bar: f64, y1: f64):
    yield y_bar
  assert w: 'stopped'
  return r"""


def test_a_kernel_prints_every_kind_of_statement() -> None:
    assert show(KERNEL) == TEXT


def test_a_block_and_a_statement_print_alone() -> None:
    assert show(Block((), (A,))) == "yield a"
    assert show(Block(())) == "pass"
    assert show(Store(X, (J, index(1)), A)) == "x[i, 1] = a"


def test_sites_are_numbered_in_program_order_and_not_shown() -> None:
    numbered = number(KERNEL)
    sites = [s.site for s in statements(numbered.body) if isinstance(s, Load | Store | Accumulate)]
    assert sites == [0, 1, 2]
    assert show(numbered) == TEXT


def test_constants_are_as_short_as_their_type_allows() -> None:
    values = [const(0.1, f32), const(1e-4, f32), const(0.1, f64), const(float("inf"), f32), const(-3, i32)]
    assert show(Block((), tuple(values))) == "yield 0.1, 1e-04, 0.1f64, inf, -3"
