"""Handwritten reports, in the format of `dsim/notebook`, for cases that programs rarely produce."""

MIME = "application/vnd.dsim.report+json"

HOSTILE = "<img src=x onerror=\"document.title = 'broken into'\"></script>\x1b[31m red \u202e1 < 2"

GRAVITY = """\
%%kernel energy --loss U --wrt x
for i, j in ds.ndrange(N, N):
    r = x[i] - x[j]
    d = r.norm(1e-3)
    # the potential of a pair
    U[None] += -1 / d"""

ADJOINT = """\
def energy(x, U_bar, x_bar):
    # backward of line 2: for i, j in ds.ndrange(N, N):
    for i, j in ndindex(64, 64):
        # line 3: r = x[i] - x[j]
        r_x = x[i, 0] - x[j, 0]
        r_y = x[i, 1] - x[j, 1]
        # line 4: d = r.norm(1e-3)
        d = np.sqrt(r_x * r_x + r_y * r_y + f32(1e-06))
        # backward of line 6: U[None] += -1 / d
        d_bar = U_bar[()] / (d * d)"""


HERE = {"name": "this cell", "here": True, "lines": []}


def report(source: str | None = GRAVITY, **changes) -> dict:
    """A kernel's report, with nothing to say but what is changed."""
    return {
        "version": 2,
        "kind": "kernel",
        "source": source,
        "origins": [] if source is None else [HERE],
        "kernel": "energy",
        "status": "ok",
        "open": "summary",
        "summary": {"text": "energy: reads x, accumulates into U", "rows": []},
        "heat": None,
        "probe": None,
        "diagnostics": [],
        "listings": [],
        "tape": None,
        "timings": {
            "compile_s": 0.031,
            "launch_s": 1.2e-5,
            "gradient_s": 2.1e-5,
            "lines_s": 0.05,
            "total_s": 0.1,
            "calls_s": [],
        },
        **changes,
    }


def value(line: int, name: str, text: str) -> dict:
    return {"line": line, "name": name, "value": 1.0, "gradient": None, "brief": text, "text": text}


def row(label: str, text: str, kernel: str = "energy") -> dict:
    return {"kernel": kernel, "label": label, "value": text}


def listing(name: str, language: str, text: str, lines: list, kernel: str = "energy") -> dict:
    origins = [None if line is None else 0 for line in lines]
    return {
        "name": name,
        "kernel": kernel,
        "language": language,
        "text": text,
        "lines": lines,
        "origins": origins,
    }


def diagnostic(
    level: str, code: str, message: str, line: int, column: int, end: int, text: str = "", **more
) -> dict:
    place = {"line": line, "column": column, "end_line": line, "end_column": end}
    said = {"level": level, "code": code, "message": message, "help": None, "related": []}
    return {**said, "origin": 0, **place, "text": text, "label": "", **more}


def related(line: int, label: str, text: str, origin: int = 0) -> dict:
    column = len(text) - len(text.lstrip())
    place = {"line": line, "column": column, "end_line": line, "end_column": len(text)}
    return {"origin": origin, **place, "text": text, "label": label}


def gravity(probe: int = 3) -> dict:
    """A kernel that is right, with all that a report can tell of one."""
    values = [
        value(3, "r", f"r = (0.12, -0.{40 + probe})   ∂U/∂r = (3.1, -10.4)"),
        value(4, "d", "d = 0.418   ∂U/∂d = 5.73"),
        value(6, "U[None]", "U[None] = -2.39   ∂U/∂U = 1"),
    ]
    return report(
        summary={
            "text": "energy: reads x, accumulates into U; nothing saved",
            "rows": [
                row("reads", "x"),
                row("accumulates", "U"),
                row("saved", "nothing: no launch overwrites what an adjoint reads"),
            ],
        },
        heat={
            "loss": "U",
            "low": 0.05,
            "high": 12.0,
            "lines": [
                {"line": 3, "adjoint": 12.0, "level": 1.0},
                {"line": 4, "adjoint": 3.2, "level": 0.75},
                {"line": 6, "adjoint": 0.05, "level": 0.0},
            ],
        },
        probe={
            "kernel": "energy",
            "indices": [
                {"name": "i", "value": probe, "low": 0, "high": 64},
                {"name": "j", "value": 0, "low": 0, "high": 64},
            ],
            "trip": None,
            "values": values,
        },
        listings=[
            listing("adjoint", "python", ADJOINT, [None, 2, 2, 3, 3, 3, 4, 4, 6, 6]),
            listing("ir", "text", "kernel energy():\n  memory x: f32[64, 2]", [None, None]),
        ],
        tape=tape(
            [group(0, 1, call("energy", line=1, end_line=6, cell=True, reads=["x"], accumulates=["U"]))]
        ),
    )


OVERWRITING = """\
%%kernel step --loss U --wrt x
for i in x:
    # 🌊 and é: columns count characters
    v["🌊é"] = x[i] * 2.0
    x[i] = v + dt
    y[i] = undefined"""


def broken() -> dict:
    """A kernel with a diagnostic of each level; columns stand behind characters of two units."""
    return report(
        OVERWRITING,
        kernel=None,
        status="failed",
        summary={"text": "not compiled: the names that this cell defines are unchanged", "rows": []},
        diagnostics=[
            diagnostic(
                "error",
                "name",
                "`undefined` is not defined",
                6,
                11,
                20,
                "    y[i] = undefined",
                help="define it above the kernel",
            ),
            diagnostic(
                "note",
                "overwritten",
                "`x[i]` is overwritten after it was read",
                5,
                4,
                8,
                "    x[i] = v + dt",
                label="overwritten here; the backward pass needs the old value",
                help="nothing has to be done: its values are saved",
                related=[related(4, "read here", '    v["🌊é"] = x[i] * 2.0')],
            ),
            diagnostic(
                "warning",
                "serial",
                "the loop runs on one thread",
                4,
                14,
                18,
                '    v["🌊é"] = x[i] * 2.0',
            ),
        ],
    )


def call(
    kernel: str, *, line: int | None = None, end_line: int | None = None, cell: bool = False, **touches
) -> dict:
    nothing = {"reads": [], "stores": [], "accumulates": [], "overwrites": [], "saved_bytes": 0}
    return {
        "kernel": kernel,
        "line": line,
        "end_line": end_line or line,
        "cell": cell,
        "file": "",
        **nothing,
        **touches,
    }


def group(first: int, count: int, *calls: dict) -> dict:
    return {"first": first, "count": count, "calls": list(calls)}


def field(name: str, *shape: int) -> dict:
    shapes = {"shape": list(shape), "entry_shape": [2]}
    return {"name": name, "dtype": "f32", **shapes, "needs_grad": True, "bytes": 1024}


def graph(fields: list[str], calls: list[tuple[int, dict]]) -> dict:
    """What the calls, each with the number of its first one, do with the fields."""
    nodes = [{"id": n, "kind": "field", "name": name} for n, name in enumerate(fields)]
    edges = []
    for first, one in calls:
        here = len(nodes)
        nodes.append({"id": here, "kind": "call", "name": one["kernel"], "first": first})
        edges += [{"from": fields.index(name), "to": here, "kind": "reads"} for name in one["reads"]]
        for kind in ("stores", "accumulates"):
            edges += [{"from": here, "to": fields.index(name), "kind": kind} for name in one[kind]]
    return {"nodes": nodes, "edges": edges}


def tape(groups: list, *, series: dict | None = None, **changes) -> dict:
    calls = sum(each["count"] * sum(one.get("count", 1) for one in each["calls"]) for each in groups)
    nothing = {"step": [], "gradient_norm": [], "saved_bytes": []}
    fields = changes.get("fields", [field("x", 64, 2), field("U")])
    folded = [(each["first"], one) for each in groups for one in each["calls"]]
    return {
        "loss": "U",
        "calls": calls,
        "saved_bytes": 0,
        "groups": groups,
        "more": 0,
        "fields": fields,
        "graph": graph([each["name"] for each in fields], folded),
        "series": series or nothing,
        "nonfinite": None,
        **changes,
    }


def simulation(steps: int = 2500) -> dict:
    """The tape of a simulation of 4 × `steps` calls whose gradient explodes."""
    loop = [
        call("clear_grid", line=2, end_line=4, stores=["grid_v", "grid_m"]),
        call("p2g", line=1, end_line=3, reads=["x", "v", "C"], accumulates=["grid_v", "grid_m"]),
        call(
            "grid_op",
            line=1,
            end_line=3,
            reads=["grid_m"],
            stores=["grid_v"],
            overwrites=["grid_v"],
            saved_bytes=steps * 512,
        ),
        call(
            "g2p",
            line=1,
            end_line=3,
            reads=["grid_v"],
            stores=["x", "v", "C"],
            overwrites=["x", "v"],
            saved_bytes=steps * 768,
        ),
    ]
    shown = [4 * steps * index // 400 for index in range(400)]
    norms: list = [10 ** (6 - 8 * index / 400) for index in range(400)]
    norms[20:23] = ["nan", "inf", "-inf"]
    return {
        **report(
            None,
            kind="tape",
            open="tape",
            kernel=None,
            summary={"text": f"tape of {4 * steps + 2} calls", "rows": []},
            tape=tape(
                [
                    group(0, 1, call("start", stores=["x", "v"])),
                    group(1, steps, *loop),
                    group(4 * steps + 1, 1, call("loss", line=1, end_line=2, reads=["x"], accumulates=["U"])),
                ],
                fields=[field(name, 64, 2) for name in ("x", "v", "C", "grid_v", "grid_m", "U")],
                saved_bytes=steps * 1280,
                series={
                    "step": shown,
                    "gradient_norm": norms,
                    "saved_bytes": [[0, 0, 512, 768][(step - 1) % 4] if step else 0 for step in shown],
                },
                nonfinite={"call": 202, "kernel": "p2g", "field": "x.grad", "line": 1},
            ),
        ),
        "timings": {
            "compile_s": 0.1,
            "launch_s": 0.1,
            "gradient_s": 0.1,
            "calls_s": [1e-5, 0.05, 0.1, 0.02, 0.3, 1e-5],
            "backward_s": [1e-5, 0.1, 0.2, 0.04, 0.6, 1e-5],
            "series_s": [2e-5 * (1 + (step - 1) % 4) + 1e-8 * (step % 97) for step in shown],
            "series_backward_s": [4e-5 * (1 + (step - 1) % 4) + 1e-8 * (step % 97) for step in shown],
        },
    }
