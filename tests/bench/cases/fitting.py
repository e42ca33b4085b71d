"""Objectives of computer vision in the shape of ADBench (Srajer, Kukelova and Fitzgibbon 2018)."""

import numpy as np

import dsim as ds
from tests.bench.cases.fields import Case, fill, integers, matrices, random, scalars, vectors


def bundle_adjustment(cameras: int = 49, points: int = 7776, seen: int = 31843) -> Case:
    """Errors of reprojection: eleven numbers for each camera, three for each point, one weight a feature."""
    camera = np.zeros((cameras, 11))
    camera[:, :3] = 0.2 * random(cameras, 3)  # rotation, as a vector along its axis
    camera[:, 3:6] = random(cameras, 3, seed=1) - [0.5, 0.5, 4]  # centre
    camera[:, 6] = 500  # focal length
    camera[:, 9:] = 1e-3  # radial distortion
    c = fill(scalars(cameras, 11), camera)
    X = fill(vectors(points, n=3), random(points, 3, seed=2))
    w = fill(scalars(seen), 0.5 + random(seen, seed=3))
    feature = fill(vectors(seen, grad=False), 100 * random(seen, 2, seed=4))
    rng = np.random.default_rng(5)
    which = integers(np.stack([rng.integers(0, cameras, seen), rng.integers(0, points, seen)], 1))
    loss = scalars()

    @ds.func
    def rotated(r, p):
        """Rodrigues' formula."""
        angle = r.norm(1e-12)
        axis = r / angle
        return ds.cos(angle) * p + ds.sin(angle) * axis.cross(p) + (1 - ds.cos(angle)) * axis.dot(p) * axis

    @ds.kernel
    def errors():
        for o in range(seen):
            k, i = which[o, 0], which[o, 1]
            turn = ds.Vector([c[k, 0], c[k, 1], c[k, 2]])
            p = rotated(turn, X[i] - ds.Vector([c[k, 3], c[k, 4], c[k, 5]]))
            q = ds.Vector([p[0], p[1]]) / p[2]
            r2 = q.norm_sqr()
            bent = (1 + c[k, 9] * r2 + c[k, 10] * r2 * r2) * q
            at = c[k, 6] * bent + ds.Vector([c[k, 7], c[k, 8]])
            loss[None] += (w[o] * (at - feature[o])).norm_sqr() + (1 - w[o] ** 2) ** 2

    return errors, loss, c


def hand_tracking(vertices: int = 8192, bones: int = 22) -> Case:
    """A hand of bones that turn about their joints; vertices follow a blend of four bones each."""
    parent = integers(np.maximum(np.arange(bones) - 1 - 3 * (np.arange(bones) % 4 == 1), -1))
    angles = fill(vectors(bones, n=3), 0.2 * random(bones, 3))
    offset = fill(vectors(bones, n=3, grad=False), random(bones, 3, seed=1))
    R, T = matrices(bones, n=3, m=3), vectors(bones, n=3)
    rest = fill(vectors(vertices, n=3, grad=False), random(vertices, 3, seed=2))
    goal = fill(vectors(vertices, n=3, grad=False), random(vertices, 3, seed=3))
    share = random(vertices, 4, seed=4)
    weight = fill(scalars(vertices, 4, grad=False), share / share.sum(1, keepdims=True))
    bone = integers(np.random.default_rng(5).integers(0, bones, (vertices, 4)))
    loss = scalars()

    @ds.func
    def turned(a):
        cx, cy, cz = ds.cos(a[0]), ds.cos(a[1]), ds.cos(a[2])
        sx, sy, sz = ds.sin(a[0]), ds.sin(a[1]), ds.sin(a[2])
        return ds.Matrix(
            [
                [cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz],
                [cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz],
                [-sy, sx * cy, cx * cy],
            ]
        )

    @ds.kernel
    def pose():
        ds.loop_config(serialize=True)
        for b in range(bones):
            if parent[b] < 0:
                R[b] = turned(angles[b])
                T[b] = offset[b]
            else:
                R[b] = R[parent[b]] @ turned(angles[b])
                T[b] = R[parent[b]] @ offset[b] + T[parent[b]]

    @ds.kernel
    def skin():
        for i in range(vertices):
            at = ds.Vector([0.0, 0.0, 0.0])
            for k in ds.static(range(4)):
                b = bone[i, k]
                at += weight[i, k] * (R[b] @ rest[i] + T[b])
            loss[None] += (at - goal[i]).norm_sqr() / vertices

    def run() -> None:
        pose()
        skin()

    return run, loss, angles
