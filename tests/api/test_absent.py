"""Names of Taichi's that are not there: their errors say what is."""

import copy
import pickle

import pytest

import dsim as ds
from dsim.diagnostics import CompilationError
from dsim.diagnostics.absent import AbsentError


@pytest.mark.parametrize(
    "use",
    [
        ds.graph.GraphBuilder,
        lambda: ds.graph.Arg(ds.graph.ArgKind.NDARRAY, "x", ds.f32, ndim=1),
        lambda: ds.graph.Graph.run,
    ],
)
def test_graphs_of_symbolic_arguments(use):
    with pytest.raises(AbsentError, match=r"`graph` has no `\w+`: `ds.graph\(run\)` records") as raised:
        use()
    assert raised.value.help.startswith("`ds.graph(run)`")


def test_they_are_objects_as_others():
    builder = ds.graph.GraphBuilder
    assert "AbsentPart" in repr(builder)
    assert type(copy.copy(builder)) is type(builder)
    assert type(pickle.loads(pickle.dumps(builder))) is type(builder)
    assert not hasattr(builder, "_repr_html_")


def test_a_comprehension_of_a_dictionary():
    x = ds.field(ds.f64, shape=())

    @ds.kernel
    def run():
        a = {name: 2.0 * n for n, name in enumerate(("p", "q"))}
        x[None] = a["p"]

    with pytest.raises(CompilationError, match="kernels have no dictionary comprehensions") as raised:
        run()
    assert raised.value.diagnostics[0].help == 'write the members out: `{"a": 1.0, "b": 2.0}`'
