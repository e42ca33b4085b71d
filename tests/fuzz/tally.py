"""Statistics of a run, as tables: the constructs of its programs, and their outcomes."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from tests.fuzz.drawing.program import HostWrite, Launch, Program
from tests.fuzz.trial import Outcome

FEATURES = (
    "nested loop", "branch", "overwrite", "all three", "integer overwritten", "inner loop bound by data",
    "while", "way out of a loop", "index from data", "accumulation", "minimum or maximum",
    "value before an update", "private buffer", "matrix", "func", "loop-carried local", "several launches",
    "kernel launched again", "Python write",
)  # fmt: skip

_LOOPS = (ast.For, ast.While)


def features(program: Program, oracle) -> set[str]:
    """What is in a program; what is overwritten is seen by the oracle when it runs."""
    found = set()
    events = oracle.watch.events
    for kernel in program.kernels:
        if kernel.name != "measure":
            found |= _in_kernel(ast.parse(kernel.text()))
    if "overwritten float" in events:
        found.add("overwrite")
    if "overwritten integer" in events:
        found.add("integer overwritten")
    if {"nested loop", "branch", "overwrite"} <= found:
        found.add("all three")
    launched = [a.kernel for a in program.actions if isinstance(a, Launch)]
    if len(launched) > 2:
        found.add("several launches")
    if len(launched) > len(set(launched)):
        found.add("kernel launched again")
    if any(isinstance(a, HostWrite) for a in program.actions):
        found.add("Python write")
    return found


def _in_kernel(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        found |= _ways(node)
        if isinstance(node, _LOOPS):
            inside = [n for child in node.body for n in ast.walk(child)]
            if any(isinstance(n, _LOOPS) for n in inside):
                found.add("nested loop")
            if any(isinstance(n, ast.For) and _from_data(n.iter) for n in inside):
                found.add("inner loop bound by data")
            found |= _carried(node, inside)
    return found


def _ways(node: ast.AST) -> set[str]:
    """What one node shows."""
    if isinstance(node, ast.Call):
        return _call(ast.unparse(node.func))
    if isinstance(node, ast.Subscript):
        local = isinstance(node.value, ast.Name) and node.value.id[0] in "pq"
        constant = not any(isinstance(n, ast.Name) for n in ast.walk(node.slice))
        found = {"private buffer"} if local and not constant else set()
        return found | ({"index from data"} if _from_data(node.slice) else set())
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
        return {"accumulation"}
    names = {ast.If: "branch", ast.While: "while"}
    names |= dict.fromkeys((ast.Break, ast.Continue, ast.Return), "way out of a loop")
    return {names[type(node)]} if type(node) in names else set()


def _call(name: str) -> set[str]:
    found = {
        "f0": "func",
        "f1": "func",
        "g0": "func",
        "ti.Matrix": "matrix",
        "ti.atomic_add": "value before an update",
    }
    found |= dict.fromkeys(("ti.atomic_max", "ti.atomic_min"), "minimum or maximum")
    return {found[name]} if name in found else set()


def _from_data(node: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id in ("k", "c")
        for n in ast.walk(node)
    )


def _carried(loop: ast.For | ast.While, inside: list[ast.AST]) -> set[str]:
    """Whether a float local changes in the loop that is older than it."""
    stored = Counter(n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    new = {
        n.targets[0].id for n in inside if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
        and not any(isinstance(m, ast.Name) and m.id == n.targets[0].id for m in ast.walk(n.value))
    }  # fmt: skip
    return {"loop-carried local"} if any(name.startswith("a") for name in set(stored) - new) else set()


@dataclass
class Tally:
    """Counts over a run."""

    programs: int = 0
    near: int = 0
    agreed: int = 0
    watched: int = 0
    shown: int = 0
    features: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    kinds: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, program: Program, outcome: Outcome, kind: str) -> None:
        """Counts one program."""
        self.programs += 1
        self.kinds[kind].update(_outcomes(outcome))
        self.features.update(features(program, outcome.oracle))
        self.near += outcome.near
        self.watched += outcome.shown > 0
        self.shown += outcome.shown
        self.agreed += not outcome.near and not outcome.refusals
        for r in dict.fromkeys((r.step, r.kind, ", ".join(r.codes)) for r in outcome.refusals):
            self.refused[r] += 1

    def take(self, other: Tally) -> None:
        """Adds what another one counted."""
        self.programs += other.programs
        self.near += other.near
        self.agreed += other.agreed
        self.watched += other.watched
        self.shown += other.shown
        self.features += other.features
        self.refused += other.refused
        for kind, counts in other.kinds.items():
            self.kinds[kind] += counts

    def share(self, feature: str) -> float:
        """How many of the programs have a feature, from 0 to 1."""
        return self.features[feature] / max(1, self.programs)

    def table(self) -> str:
        """Both tables as text."""
        width = max(map(len, FEATURES)) + 2
        lines = [f"{self.programs} programs, of which have"]
        lines += [f"  {name:{width}}{100 * self.share(name):4.0f} %" for name in FEATURES]
        refused = self.programs - self.near - self.agreed
        lines += [
            f"agreed in all: {self.agreed}, refused in part: {refused}",
            f"not compared, for rounding decides what they do: {self.near}",
            f"watched: {self.watched}, of which {self.shown} numbers that lines show were compared",
        ]
        lines += [f"  {count:5} × {' '.join(what)}" for what, count in self.refused.most_common()]
        return "\n".join([*lines, "of each kind:", *self.by_kind()])

    def by_kind(self) -> list[str]:
        """Of each kind of program, how many there were, and what came of them."""
        width = max(map(len, self.kinds), default=0) + 2
        return [
            f"  {kind:{width}}" + ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
            for kind, counts in sorted(self.kinds.items())
        ]


def _outcomes(outcome: Outcome) -> list[str]:
    """What came of one program; all that it was refused for."""
    if outcome.near:
        return ["not compared"]
    codes = dict.fromkeys(code for r in outcome.refusals for code in r.codes)
    return [f"refused ({code})" for code in codes] or ["agreed"]
