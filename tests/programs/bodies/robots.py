"""Robots: masses, and springs as (mass, mass, rest length, stiffness, strength of the muscle)."""

import math

Spring = tuple[int, int, float, float, float]


class Mesh:
    """Masses on a grid of spacing 0.05, joined by the sides and diagonals of squares and triangles."""

    def __init__(self):
        self.masses: list[tuple[float, float]] = []
        self.springs: list[Spring] = []
        self._at: dict[tuple[float, float], int] = {}
        self._joined: set[frozenset[int]] = set()

    def mass(self, i, j):
        if (i, j) not in self._at:
            self._at[i, j] = len(self.masses)
            self.masses.append((0.1 + 0.05 * i, 0.1 + 0.05 * j))
        return self._at[i, j]

    def join(self, a, b, muscle=0.0):
        if a != b and frozenset((a, b)) not in self._joined:
            self._joined.add(frozenset((a, b)))
            self.springs.append((a, b, math.dist(self.masses[a], self.masses[b]), 3e4, muscle))

    def triangle(self, i, j):
        self._all_pairs([self.mass(i + 0.5, j + 0.5), self.mass(i, j + 1), self.mass(i + 1, j + 1)])

    def square(self, i, j, muscle=0.0):
        """The two upright sides are muscles."""
        corners = [self.mass(i, j), self.mass(i, j + 1), self.mass(i + 1, j), self.mass(i + 1, j + 1)]
        self.join(corners[0], corners[1], muscle)
        self.join(corners[2], corners[3], muscle)
        self._all_pairs(corners)

    def _all_pairs(self, corners):
        for a in corners:
            for b in corners:
                self.join(a, b)


def walker():
    """Two feet, two legs with muscles, and a back of three squares; mass 0 is a foot."""
    mesh = Mesh()
    mesh.triangle(2, 0)
    mesh.triangle(0, 0)
    mesh.square(0, 1, muscle=0.15)
    mesh.square(0, 2)
    mesh.square(1, 2)
    mesh.square(2, 1, muscle=0.15)
    mesh.square(2, 2)
    return mesh.masses, mesh.springs
