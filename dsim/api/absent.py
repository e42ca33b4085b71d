"""Taichi's names that dsim does not have, each with the reason that its error gives."""

from __future__ import annotations

from collections.abc import Sequence

from dsim.diagnostics.absent import AbsentError
from dsim.diagnostics.similar import similar

_SPARSE = "sparse layouts are out of scope: dense fields are what there is"
_GPU = "functions of GPU threads and caches are out of scope"
_MESHES = "meshes are out of scope: keep them in fields of indices"
_TEXTURES = "textures are out of scope: keep images in fields"
_QUANTISED = "quantised types are out of scope: `ds.f16` and `ds.i8` are the smallest"
_PROFILER = "profile with Python's tools, or `ds.tools.Timer`"

_SPARSE_MATRICES = "solve large sparse systems by `scipy.sparse.linalg`, on what `to_numpy()` gives"
_INSIDE = "it is internal to Taichi"
_FILES = "`ds.tools.PLYWriter` writes points and faces; of meshes a package such as meshio does"

WHY: dict[str, str] = {
    "ui": "GGUI is out of scope: `ds.GUI` draws into images",
    "aot": "compiling ahead of time is out of scope",
    "simt": _GPU,
    "global_thread_idx": _GPU,
    "profiler": _PROFILER,
    "print_kernel_profiler_info": _PROFILER,
    "mesh_local": _MESHES,
    "mesh_patch_idx": _MESHES,
    "Mesh": _MESHES,
    "Texture": _TEXTURES,
    "Format": _TEXTURES,
    "rw_texture": _TEXTURES,
    "texture": _TEXTURES,
    "quant": _QUANTISED,
    "BitpackedFields": _QUANTISED,
    **dict.fromkeys(("ArgPack", "argpack"), "packs are structs: `ds.types.argpack` makes their types"),
    "SNode": _SPARSE,
    "sparse": _SPARSE,
    "MeshInstance": _MESHES,
    "DeviceCapability": "compiling ahead of time is out of scope",
    "texture_type": _TEXTURES,
    "diagnose": "`dsim doctor` checks the machine",
    "image": "`ds.tools` has `imread`, `imwrite`, `imresize` and `imshow` themselves",
    **dict.fromkeys(("np2ply", "vtk", "write_vtk"), _FILES),
    "video": "`ds.tools` has `VideoManager` itself",
    **dict.fromkeys(("lang", "annotations", "compound_types", "ndarray_type", "utils"), _INSIDE),
    **dict.fromkeys(
        ("LinearOperator", "MatrixFreeBICGSTAB", "MatrixFreeCG", "SparseCG", "SparseMatrix",
         "SparseMatrixBuilder", "SparseSolver", "sparse_matrix_builder"),
        _SPARSE_MATRICES,
    ),
    **dict.fromkeys(
        ("activate", "append", "deactivate", "deactivate_all_snodes", "extension", "get_addr", "is_active",
         "length", "rescale_index"),
        _SPARSE,
    ),
}  # fmt: skip


def absent(module: str, name: str, known: Sequence[str] = ()) -> AbsentError:
    """The exception for ``module.name``; `known` are the names that the module has.

    Examples
    --------
    >>> absent("dsim", "ui")
    AbsentError("module 'dsim' has no attribute 'ui': GGUI is out of scope: `ds.GUI` draws into images")
    >>> absent("dsim", "kernle", ["field", "kernel"])
    AbsentError("module 'dsim' has no attribute 'kernle': did you mean `kernel`?")
    """
    why = WHY.get(name, "")
    near = None if why or name.startswith("_") else similar(name, known)
    told = why if near is None else f"did you mean `{near}`?"
    error = AbsentError(f"module '{module}' has no attribute '{name}'{': ' if told else ''}{told}")
    error.help = why
    return error
