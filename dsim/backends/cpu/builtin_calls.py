"""Machine code as a built-in function of CPython, whose call takes less time than that of a `ctypes` one.

One function in machine code serves for all: it takes the address of the code from its `self` and that of the
frame from its argument, and lets other threads have the interpreter while the code runs, as `ctypes` does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.own_code import OwnCode

_O = 0x0008  # METH_O: a function of `self` and one argument
_TEXT = """
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

define ptr @dsim_entry(ptr %self, ptr %argument) {
  %entry = call ptr @PyLong_AsVoidPtr(ptr %self)
  %frame = call ptr @PyLong_AsVoidPtr(ptr %argument)
  %failed = icmp eq ptr %frame, null
  br i1 %failed, label %refuse, label %run
refuse:
  ret ptr null
run:
  %thread = call ptr @PyEval_SaveThread()
  %status = call i64 %entry(ptr %frame)
  call void @PyEval_RestoreThread(ptr %thread)
  %result = call ptr @PyLong_FromLongLong(i64 %status)
  ret ptr %result
}
"""


class _Definition(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Entry(int):
    """The address of machine code, which it keeps alive, and with it what calls that."""

    code: tuple[MachineCode, MachineCode]


_new = ctypes.pythonapi.PyCFunction_NewEx
_new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
_new.restype = ctypes.py_object


def builtin(code: MachineCode) -> Callable[[int], int]:
    """A function that runs `code` on the frame at an address, and gives its status.

    The code lives as long as the function does.
    """
    caller, definition = _caller()
    entry = _Entry(code.entry)
    entry.code = code, caller
    return _new(definition, entry, None)


_CODE = OwnCode(_TEXT)
begin = _CODE.begin  # compiling it, while the first kernel is compiled


@cache
def _caller() -> tuple[MachineCode, int]:
    """What calls the machine code, and the address of its definition.

    CPython reads the definition also when it frees a function, at its end after it has freed what modules
    hold: so this memory is never given back.
    """
    made = _CODE.compiled()
    definition: Any = _Definition(b"launch", made.entry, _O, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    return made, ctypes.addressof(definition)
