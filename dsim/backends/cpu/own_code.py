"""Machine code that dsim itself needs, whatever the kernels are.

Another thread compiles it while the first kernel is compiled.
"""

from __future__ import annotations

from concurrent.futures import Future

from dsim.backends.cpu import images
from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.disk_cache import DiskCache, disk_cache
from dsim.backends.locks import before_fork
from dsim.worker_threads import WorkerThreads

_BEGUN: list[OwnCode] = []


class OwnCode:
    """A module of LLVM IR, of which there is little, so that it is not optimised.

    Parameters
    ----------
    text : str
        The module.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._known = False
        self._threads: WorkerThreads | None = None
        self._image: Future[bytes] | None = None

    def begin(self) -> None:
        """Begins to compile it, once, unless it is on disk."""
        if self._known:
            return
        self._known = True
        images.prepare()
        cache = disk_cache()
        if images.loaded(self._text, images.AS_IT_STANDS, cache) is None:
            self._threads = WorkerThreads(1)
            _BEGUN.append(self)
            self._image = self._threads.submit(self._made, cache)

    def compiled(self) -> MachineCode:
        """The machine code."""
        self.begin()
        made = MachineCode(self._text, {}, images.AS_IT_STANDS, self._image)
        self.end()
        return made

    def end(self) -> None:
        """Ends the thread, after what it compiles just now."""
        if self._threads is not None:
            self._threads.close()

    def _made(self, cache: DiskCache) -> bytes:
        try:
            return images.made(self._text, images.AS_IT_STANDS, cache)
        finally:
            images.forget_targets()  # before a fork, which waits for this, goes on


def _end() -> None:
    for code in _BEGUN:
        code.end()


before_fork(_end)  # a child has no such threads, and would wait for them for ever
