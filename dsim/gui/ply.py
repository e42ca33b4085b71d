"""`PLYWriter`: points and faces with attributes, in PLY files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from dsim.files import replaced
from dsim.runtime.fields.fields import Field

_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "double": "f8",
}  # fmt: skip
_CORNERS = {"tri": 3, "quad": 4}


class _Element:
    """Vertices or faces: their count, and their channels."""

    def __init__(self, what: str, many: str, count: int) -> None:
        self.what, self.many, self.count = what, many, count
        self.channels: dict[str, tuple[str, NDArray[Any]]] = {}

    def add(self, key: str, kind: str, data: Any) -> None:
        """Adds a channel, or for data of several columns one for each: ``key_1``, ``key_2``."""
        if kind not in _TYPES:
            raise ValueError(f"a PLY file has no type {kind!r}: it has {', '.join(_TYPES)}")
        values = _array(data)
        if values.size == 0 or values.size % max(self.count, 1) or len(values) != self.count:
            raise ValueError(f"`{key}` has the shape {values.shape}, but there are {self.count} {self.many}")
        columns = values.reshape(self.count, -1).astype(_TYPES[kind])
        names = [key] if values.ndim == 1 else [f"{key}_{i + 1}" for i in range(columns.shape[1])]
        for name, column in zip(names, columns.T, strict=True):
            if name in self.channels:
                raise ValueError(f"there is a channel `{name}` of the {self.many} already")
            self.channels[name] = (kind, column)


class PLYWriter:
    """Writes points, faces and their attributes as a PLY file.

    Parameters
    ----------
    num_vertices : int
        The number of points, at least 1.
    num_faces : int
        The number of faces.
    face_type : {"tri", "quad"}
        Whether faces have three corners or four.
    comment : str
        A comment in the file's header.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = PLYWriter(num_vertices=2)
    ...     writer.add_vertex_pos([0.0, 1.0], [0.0, 0.5], [0.0, 0.25])
    ...     writer.export_ascii(folder + "/points.ply")
    ...     print(Path(folder, "points.ply").read_text().split("end_header")[1].split())
    ['0.0', '0.0', '0.0', '1.0', '0.5', '0.25']
    """

    def __init__(
        self,
        num_vertices: int,
        num_faces: int = 0,
        face_type: str = "tri",
        comment: str = "created by PLYWriter",
    ) -> None:
        if num_vertices < 1 or num_faces < 0:
            raise ValueError(f"a PLY file has points, not {num_vertices}, and no negative number of faces")
        if face_type not in _CORNERS:
            raise ValueError(f'faces are "tri" or "quad", not {face_type!r}')
        self.num_vertices, self.num_faces, self.face_type = num_vertices, num_faces, face_type
        self.comment = comment
        self.face_indices: NDArray[np.int32] | None = None
        self._vertices = _Element("vertex", "vertices", num_vertices)
        self._faces = _Element("face", "faces", num_faces)

    # vertices

    def add_vertex_channel(self, key: str, data_type: str, data: Any) -> None:
        """Adds `data`, a number or a row for each vertex, as channel `key`.

        `data_type` is one of ``char uchar short ushort int uint float double``.
        """
        self._vertices.add(key, data_type, data)

    def add_vertex_pos(self, x: Any, y: Any, z: Any) -> None:
        """Sets the positions of the vertices."""
        self._several("x y z", x, y, z)

    def add_vertex_normal(self, nx: Any, ny: Any, nz: Any) -> None:
        """Sets their normals."""
        self._several("nx ny nz", nx, ny, nz)

    def add_vertex_vel(self, vx: Any, vy: Any, vz: Any) -> None:
        """Sets their velocities."""
        self._several("vx vy vz", vx, vy, vz)

    def add_vertex_color(self, r: Any, g: Any, b: Any) -> None:
        """Sets their colours, from 0 to 1."""
        self._several("red green blue", r, g, b)

    def add_vertex_alpha(self, alpha: Any) -> None:
        """Sets their opacity, from 0 to 1."""
        self._several("Alpha", alpha)

    def add_vertex_rgba(self, r: Any, g: Any, b: Any, a: Any) -> None:
        """Sets their colours and opacity."""
        self._several("red green blue Alpha", r, g, b, a)

    def add_vertex_id(self) -> None:
        """Sets their indices, counted from 0."""
        self._vertices.add("id", "int", np.arange(self.num_vertices))

    def add_vertex_piece(self, piece: Any) -> None:
        """Sets the piece of a body that each belongs to."""
        self._vertices.add("piece", "int", piece)

    def _several(self, names: str, *values: Any) -> None:
        for name, value in zip(names.split(), values, strict=True):
            self._vertices.add(name, "float", value)

    # faces

    def add_faces(self, indices: Any) -> None:
        """Sets the vertex indices of all faces, one face after the other, in any shape."""
        corners = _CORNERS[self.face_type]
        found = _array(indices)
        if found.size != self.num_faces * corners:
            message = f"{self.num_faces} faces of {corners} corners need {self.num_faces * corners} indices"
            raise ValueError(f"{message}, got {found.size}")
        if found.size and not 0 <= found.min() <= found.max() < self.num_vertices:
            raise ValueError(f"the corners of faces are vertices, from 0 to {self.num_vertices - 1}")
        self.face_indices = found.reshape(self.num_faces, corners).astype(np.int32)

    def add_face_channel(self, key: str, data_type: str, data: Any) -> None:
        """Like `add_vertex_channel`, for faces."""
        self._faces.add(key, data_type, data)

    def add_face_id(self) -> None:
        """Sets their indices, counted from 0."""
        self._faces.add("id", "int", np.arange(self.num_faces))

    def add_face_piece(self, piece: Any) -> None:
        """Sets the piece of a body that each belongs to."""
        self._faces.add("piece", "int", piece)

    # files

    def export(self, path: str | Path) -> None:
        """Writes a binary file.

        Raises
        ------
        RuntimeError
            When the vertices have no positions, or the faces no indices.
        """
        head, rows = self._head(f"binary_{sys.byteorder}_endian"), [self._rows(self._vertices, "")]
        if self.num_faces:
            rows.append(self._rows(self._faces, self.face_type))
        with replaced(path) as beside, beside.open("wb") as file:
            file.write(head.encode())
            file.writelines(table.tobytes() for table in rows)

    def export_ascii(self, path: str | Path) -> None:
        """Writes a text file; raises as `export` does."""
        head = self._head("ascii")
        with replaced(path) as beside, beside.open("w", encoding="utf-8") as file:
            file.write(head)
            _write_rows(file, self._rows(self._vertices, ""))
            if self.num_faces:
                _write_rows(file, self._rows(self._faces, self.face_type))

    def export_frame(self, series_num: int, path: str | Path) -> None:
        """Writes a numbered binary file: ``name_000007.ply``."""
        self.export(_numbered(path, series_num))

    def export_frame_ascii(self, series_num: int, path: str | Path) -> None:
        """Writes a numbered text file."""
        self.export_ascii(_numbered(path, series_num))

    def _head(self, form: str) -> str:
        if not {"x", "y", "z"} <= self._vertices.channels.keys():
            raise RuntimeError("the vertices have no positions: call `add_vertex_pos`")
        if self.num_faces and self.face_indices is None:
            raise RuntimeError("the faces have no corners: call `add_faces`")
        lines = ["ply", f"format {form} 1.0", f"comment {self.comment}"]
        for element in (self._vertices, self._faces):
            if element.count:
                lines.append(f"element {element.what} {element.count}")
                lines += ["property list uchar int vertex_indices"] * (element is self._faces)
                lines += [f"property {kind} {name}" for name, (kind, _) in element.channels.items()]
        return "\n".join([*lines, "end_header", ""])

    def _rows(self, element: _Element, corners: str) -> NDArray[Any]:
        """A structured array with one row per vertex or face, in the layout of the binary file."""
        columns = dict(element.channels)
        given: dict[str, tuple[Any, NDArray[Any]]] = {n: (_TYPES[k], v) for n, (k, v) in columns.items()}
        if corners and self.face_indices is not None:
            n = _CORNERS[corners]
            first = {"#n": ("u1", np.full(element.count, n)), "#at": (("i4", (n,)), self.face_indices)}
            given = first | given
        table = np.zeros(element.count, [(name, kind) for name, (kind, _) in given.items()])
        for name, (_, values) in given.items():
            table[name] = values
        return table


def _array(data: Any) -> NDArray[Any]:
    return data.to_numpy() if isinstance(data, Field) else np.asarray(data)


def _numbered(path: str | Path, number: int) -> Path:
    path = Path(path)
    return path.with_name(f"{path.name.removesuffix('.ply')}_{number:06d}.ply")


def _write_rows(file: TextIO, table: NDArray[Any]) -> None:
    for row in table:
        values = (v for item in row for v in np.ravel(item))
        file.write(" ".join(str(v) for v in values) + "\n")
