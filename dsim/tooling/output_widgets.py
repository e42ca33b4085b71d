"""`ipywidgets.Output` in a run without a browser: what it captured is shown where it was displayed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from dsim.tooling.extras import require

Notebook = Any  # nbformat.NotebookNode
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def hearing(widget: type[Any]) -> type[Any]:
    """Nbclient's class of output widgets, for which no reply of the kernel is lost.

    It sends what was captured to the kernel, by the socket on which the client awaits the reply to a cell.
    Sending takes the signal that something has come in, and pyzmq's loop then waits for another one; asking
    for the socket's events makes it look.
    """
    events = require("zmq", extra="lab", purpose="to run notebooks").EVENTS

    class Output(widget):
        def sync_state(self) -> None:
            widget.sync_state(self)
            self.kernel_client.shell_channel.socket.get(events)

    return Output


def with_output_widgets(client: type[Any]) -> type[Any]:
    """The class of nbclient, for runs that do not store the state of widgets.

    The class itself keeps the outputs of an output widget in the state that it stores, and fails where it
    stores none.

    Parameters
    ----------
    client : type
        `nbclient.NotebookClient`.

    Returns
    -------
    type
        A subclass whose `widget_state` has the outputs of each output widget, and nothing else.
    """

    class Client(client):
        def __init__(self, *args: Any, **options: Any) -> None:
            client.__init__(self, *args, **options)
            models = self.widget_registry["@jupyter-widgets/output"]
            models["OutputModel"] = hearing(models["OutputModel"])

        def reset_execution_trackers(self) -> None:
            client.reset_execution_trackers(self)
            self.widget_state: dict[str, dict[str, Any]] = defaultdict(dict)

        def set_widgets_metadata(self) -> None:
            """The notebook gets no state."""

    return Client


def show_captured(notebook: Notebook, state: Mapping[str, Mapping[str, Any]]) -> None:
    """Puts what output widgets have captured in the place of their views.

    Parameters
    ----------
    notebook : NotebookNode
        The notebook after its run; its cells change.
    state : mapping of str to mapping
        The outputs of each output widget, by the id of its model.
    """
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = [shown for output in cell.outputs for shown in _captured(output, state)]


def _captured(output: Any, state: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    model = output.get("data", {}).get(WIDGET_VIEW, {}).get("model_id")
    return [output] if model not in state else list(state[model].get("outputs", []))
