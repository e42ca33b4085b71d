"""The statements of a block are listed once; a block made from it has its own."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

from dsim.ir.nodes import Block, If, Let
from dsim.ir.types import f32, u1
from dsim.ir.values import Const, Origin, Var
from dsim.ir.walk import statements, with_blocks

ONE = Const(1.0, f32)
A, B = Var("a", f32), Var("b", f32)
FIRST, SECOND = Let(A, "neg", (ONE,)), Let(B, "neg", (A,))
BRANCH = If(Const(True, u1), Block((SECOND,)), Block(()))


def test_statements_come_in_preorder_each_time() -> None:
    block = Block((FIRST, BRANCH, SECOND))
    assert list(statements(block)) == [FIRST, BRANCH, SECOND, SECOND]
    assert list(statements(block)) == [FIRST, BRANCH, SECOND, SECOND]


def test_a_changed_block_has_its_own_statements() -> None:
    block = Block((FIRST, BRANCH))
    assert len(statements(block)) == 3
    assert list(statements(replace(block, statements=(FIRST,)))) == [FIRST]
    emptied = with_blocks(BRANCH, lambda _: Block(()))
    assert list(statements(Block((FIRST, emptied)))) == [FIRST, emptied]


def test_what_was_listed_is_no_part_of_a_block() -> None:
    listed, other = Block((FIRST, BRANCH)), Block((FIRST, BRANCH))
    statements(listed)
    assert listed == other
    assert hash(listed) == hash(other)
    assert repr(listed) == repr(other)
    for again in (copy.copy(listed), copy.deepcopy(listed), pickle.loads(pickle.dumps(listed))):
        assert again == other
        assert list(statements(again)) == [FIRST, BRANCH, SECOND]


def test_records_are_equal_but_for_their_origins() -> None:
    assert replace(FIRST, origin=Origin(transforms=("reverse",))) == FIRST
    assert hash(replace(FIRST, origin=Origin(transforms=("reverse",)))) == hash(FIRST)
    assert FIRST != SECOND
    assert len({A, Var("a", f32), B}) == 2
