"""Colourings, and trees of blocks."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, diags_array, eye_array, kron, random_array

from dsim.runtime.transforms.sparse.block_tree import BlockTree, Refinement
from dsim.runtime.transforms.sparse.colouring import coloured, longest_rows, number_of, separated
from dsim.runtime.transforms.sparse.sparsity_pattern import Pattern
from dsim.runtime.transforms.sparse.star_colouring import sources, star_coloured


def pattern_of(matrix):
    entries = coo_array(matrix)
    return Pattern.of(entries.row, entries.col, matrix.shape)


def stencil(*shape):
    """Neighbours along each axis."""
    found = csr_array((np.prod(shape), np.prod(shape)))
    for axis, n in enumerate(shape):
        line = diags_array([np.ones(n)] * 3, offsets=[-1, 0, 1], shape=(n, n))
        before, after = (eye_array(int(np.prod(part))) for part in (shape[:axis], shape[axis + 1 :]))
        found = found + kron(kron(before, line), after)
    return pattern_of(found)


def assert_valid(pattern, colours):
    pairs = np.stack([pattern.rows, colours[pattern.columns]])
    assert np.unique(pairs, axis=1).shape[1] == len(pattern.columns)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(50,), (17, 23), (8, 9, 10), (320, 320)])
def test_stencils_get_as_few_colours_as_they_have_points(shape):
    pattern = stencil(*shape)
    colours = coloured(pattern, [shape])
    assert_valid(pattern, colours)
    assert number_of(colours) == 2 * len(shape) + 1


@pytest.mark.parametrize("seed", range(5))
def test_random_patterns(seed):
    pattern = pattern_of(random_array((80, 60), density=0.05, rng=np.random.default_rng(seed)))
    for shapes in ([], [(60,)], [(6, 5), (30,)]):
        colours = coloured(pattern, shapes)
        assert_valid(pattern, colours)
        assert number_of(colours) <= 2 * pattern.degrees.max()


def bicoloured_paths(pattern, colours):
    """Paths of four vertices with two colours."""
    near = [set() for _ in colours]
    for i, j in zip(pattern.rows, pattern.columns, strict=True):
        if i != j:
            near[i].add(int(j))
    return [
        (a, b, c, d)
        for b in range(len(near))
        for c in near[b]
        for a in near[b] - {c}
        for d in near[c] - {a, b}
        if colours[a] == colours[c] and colours[b] == colours[d]
    ]


@pytest.mark.parametrize("seed", range(12))
def test_star_colourings_of_random_patterns(seed):
    random = np.random.default_rng(seed)
    half = random_array((50, 50), density=random.uniform(0.01, 0.1), rng=random)
    pattern = pattern_of(half + half.T)
    colours = star_coloured(pattern, [(50,)])
    assert bicoloured_paths(pattern, colours) == []
    assert number_of(colours) <= number_of(coloured(pattern, [(50,)]))
    values = random.standard_normal((50, 50))
    matrix = pattern.filled((values + values.T)[pattern.rows, pattern.columns])
    seeds = np.zeros((50, number_of(colours)))
    seeds[np.flatnonzero(colours >= 0), colours[colours >= 0]] = 1
    shown = (matrix @ seeds)[pattern.rows, colours[pattern.columns]]
    np.testing.assert_allclose(shown[sources(pattern, colours)], matrix.data, rtol=1e-14)


@pytest.mark.parametrize(("shape", "most"), [((60,), 3), ((20, 20), 5), ((8, 8, 8), 7)])
def test_star_colourings_of_stencils(shape, most):
    pattern = stencil(*shape)
    assert number_of(star_coloured(pattern, [shape])) <= most


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (3, 5)])
def test_patterns_without_entries(shape):
    split = separated(Pattern.of([], [], shape), 2.5, [(shape[0],)], [(shape[1],)])
    assert split.cost(2.5) == 0


@pytest.mark.parametrize("transposed", [False, True])
def test_the_cheaper_side_is_chosen(transposed):
    sums = kron(eye_array(10), np.ones((1, 30)))
    pattern = pattern_of(sums.T if transposed else sums)
    split = separated(pattern, 2.5, [(pattern.shape[0],)], [(pattern.shape[1],)])
    assert split.cost(2.5) == (1.0 if transposed else 2.5)


def test_long_rows_are_found_by_themselves():
    arrow = np.eye(100)
    arrow[3] = arrow[:, 5] = 1
    pattern = pattern_of(coo_array(arrow))
    split = separated(pattern, 2.5, [(100,)], [(100,)])
    assert np.flatnonzero(split.by_row).tolist() == [3]
    assert split.cost(2.5) == 2 + 2.5
    assert longest_rows(pattern.degrees, 1.0, 2.5) == (2, 4.5)


@pytest.mark.parametrize("shapes", [[(1,)], [()], [(5,), (3, 4), ()], [(7, 2, 3), (64,)], [(0,), (3,)]])
def test_blocks_are_halved_until_they_hold_one_number(shapes):
    tree = BlockTree(shapes)
    size = sum(int(np.prod(s)) for s in shapes)
    last = tree.blocks(tree.depth)
    assert sorted(last) == list(range(size))
    np.testing.assert_array_equal(last[tree.numbers()], np.arange(size))
    for level in range(tree.depth):
        parts = Refinement(tree, level, level + 1)
        assert set(parts.counts) <= {1, 2}
        np.testing.assert_array_equal(parts.parent[parts.children], parts.parents)
        rows, blocks = parts.expanded(np.array([4, 9]), np.array([0, parts.parents.max()]))
        assert rows.tolist() == [4] * parts.counts[0] + [9] * parts.counts[-1]
        assert (
            parts.parent[blocks].tolist() == [0] * parts.counts[0] + [parts.parents.max()] * parts.counts[-1]
        )


def test_blocks_of_a_grid_are_compact():
    blocks = BlockTree([(16, 16)]).blocks(4).reshape(16, 16)
    assert all(len(np.unique(b)) == 1 for b in blocks.reshape(4, 4, 4, 4).swapaxes(1, 2).reshape(16, 16))
