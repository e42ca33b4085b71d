"""The axes of fields: ``root.dense(ij, (n, m))``."""

from dsim.runtime.fields.layout import axes

i, j, k, l = (axes(n) for n in range(4))  # noqa: E741 (Taichi's names)
ij, ik, il, jk, jl, kl = axes(0, 1), axes(0, 2), axes(0, 3), axes(1, 2), axes(1, 3), axes(2, 3)
ji, ki, kj = axes(1, 0), axes(2, 0), axes(2, 1)
ijk, ijl, ikl, jkl = axes(0, 1, 2), axes(0, 1, 3), axes(0, 2, 3), axes(1, 2, 3)
ijkl = axes(0, 1, 2, 3)

__all__ = [
    "axes", "i", "ij", "ijk", "ijkl", "ijl", "ik", "ikl", "il", "j", "ji", "jk", "jkl", "jl", "k", "ki", "kj",
    "kl", "l",
]  # fmt: skip
