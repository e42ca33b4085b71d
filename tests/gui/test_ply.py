"""PLY files, read back by the format's definition."""

import sys

import numpy as np
import pytest

import dsim as ti

NUMPY = {"float": "f4", "double": "f8", "int": "i4", "uchar": "u1"}


def read(path):
    """The elements of a PLY file, as tables; lists have the length of their first entry."""
    head, body = path.read_bytes().split(b"end_header\n", 1)
    lines = head.decode().splitlines()
    assert lines[0] == "ply"
    form = lines[1].split()[1]
    tables, current = {}, None
    for line in lines[3:]:
        words = line.split()
        if words[0] == "element":
            current = tables.setdefault(words[1], (int(words[2]), []))[1]
        else:
            current.append((words[-1], "list" if words[1] == "list" else NUMPY[words[1]]))
    if form == "ascii":
        rows = [list(map(float, line.split())) for line in body.decode().splitlines()]
        return {name: [rows.pop(0) for _ in range(count)] for name, (count, _) in tables.items()}
    assert form == f"binary_{sys.byteorder}_endian"
    out, at = {}, 0
    for name, (count, columns) in tables.items():
        out[name] = []
        for _ in range(count):
            row = []
            for _, kind in columns:
                if kind == "list":
                    n = body[at]
                    row += [n, *np.frombuffer(body, "i4", n, at + 1)]
                    at += 1 + 4 * n
                else:
                    row += [np.frombuffer(body, kind, 1, at)[0]]
                    at += np.dtype(kind).itemsize
            out[name].append(row)
    assert at == len(body)
    return out


def square(**options):
    writer = ti.tools.PLYWriter(num_vertices=4, num_faces=2, **options)
    writer.add_vertex_pos([0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0], np.zeros(4))
    return writer


@pytest.mark.parametrize("form", ["export", "export_ascii"])
def test_vertices_and_faces(tmp_path, form):
    writer = square()
    mass = ti.field(ti.f64, shape=4)
    mass.from_numpy(np.array([0.1, 0.2, 0.3, 0.4]))
    writer.add_vertex_channel("mass", "double", mass)
    writer.add_vertex_channel("uv", "float", np.arange(8.0).reshape(4, 2))
    writer.add_vertex_id()
    writer.add_faces([0, 1, 2, 0, 2, 3])
    writer.add_face_piece([7, 8])
    getattr(writer, form)(tmp_path / "a.ply")
    found = read(tmp_path / "a.ply")
    assert np.array(found["face"]).tolist() == [[3, 0, 1, 2, 7], [3, 0, 2, 3, 8]]
    wanted = [[x, y, 0, m, 2 * i, 2 * i + 1, i] for i, (x, y, m) in enumerate(
        [(0, 0, 0.1), (1, 0, 0.2), (1, 1, 0.3), (0, 1, 0.4)]
    )]  # fmt: skip
    assert np.array(found["vertex"], float).tolist() == wanted


def test_channels_by_name_and_series(tmp_path):
    writer = ti.tools.PLYWriter(2, comment="drops")
    writer.add_vertex_pos([0, 1], [2, 3], [4, 5])
    writer.add_vertex_normal([1, 0], [0, 1], [0, 0])
    writer.add_vertex_vel([1, 2], [1, 2], [1, 2])
    writer.add_vertex_rgba([1, 0], [0, 1], [0, 0], [1, 0.5])
    writer.add_vertex_piece([1, 2])
    writer.export_frame(7, str(tmp_path / "drops.ply"))
    writer.export_frame_ascii(8, tmp_path / "drops")
    text = (tmp_path / "drops_000008.ply").read_text().splitlines()
    assert text[2] == "comment drops"
    assert [line.split()[-1] for line in text if line.startswith("property")] == (
        ["x", "y", "z", "nx", "ny", "nz", "vx", "vy", "vz", "red", "green", "blue", "Alpha", "piece"]
    )
    assert read(tmp_path / "drops_000007.ply") == read(tmp_path / "drops_000008.ply")


def test_quads(tmp_path):
    writer = ti.tools.PLYWriter(4, 1, "quad")
    writer.add_vertex_pos(*np.zeros((3, 4)))
    writer.add_faces(np.array([[3, 2, 1, 0]]))
    writer.add_face_id()
    writer.export(tmp_path / "a.ply")
    assert np.array(read(tmp_path / "a.ply")["face"][0]).tolist() == [4, 3, 2, 1, 0, 0]


def test_what_is_wrong(tmp_path):
    with pytest.raises(ValueError, match=r'"tri" or "quad"'):
        square(face_type="hex")
    with pytest.raises(ValueError, match="points, not 0"):
        ti.tools.PLYWriter(0)
    writer = square()
    with pytest.raises(ValueError, match=r"`m` has the shape \(3,\), but there are 4 vertices"):
        writer.add_vertex_channel("m", "float", [1, 2, 3])
    with pytest.raises(ValueError, match="no type 'half'"):
        writer.add_vertex_channel("m", "half", [1, 2, 3, 4])
    with pytest.raises(ValueError, match="a channel `x` of the vertices already"):
        writer.add_vertex_pos(*np.zeros((3, 4)))
    with pytest.raises(ValueError, match="2 faces of 3 corners need 6 indices, got 3"):
        writer.add_faces([0, 1, 2])
    with pytest.raises(ValueError, match="from 0 to 3"):
        writer.add_faces([0, 1, 2, 0, 2, 4])
    with pytest.raises(RuntimeError, match="the faces have no corners: call `add_faces`"):
        writer.export(tmp_path / "a.ply")
    with pytest.raises(RuntimeError, match="the vertices have no positions: call `add_vertex_pos`"):
        ti.tools.PLYWriter(1).export_ascii(tmp_path / "a.ply")
    assert not list(tmp_path.iterdir())
