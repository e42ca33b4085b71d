"""Output widgets of a run without a browser."""

import asyncio
import time
from types import SimpleNamespace

import zmq
import zmq.asyncio

from dsim.tooling.output_widgets import hearing


class Sends:
    """A widget that sends by a socket as Jupyter's session does: past the loop that awaits a reply there."""

    def __init__(self, socket):
        self.kernel_client = SimpleNamespace(shell_channel=SimpleNamespace(socket=socket))

    def sync_state(self):
        zmq.Socket.shadow(self.kernel_client.shell_channel.socket.underlying).send(b"state")


async def _heard(kind) -> int:
    """What the client hears of a reply that comes while it is about to send."""
    with (
        zmq.Context() as kernels,
        zmq.asyncio.Context() as context,
        context.socket(zmq.DEALER) as client,
        kernels.socket(zmq.DEALER) as kernel,
    ):
        port = client.bind_to_random_port("tcp://127.0.0.1")
        kernel.connect(f"tcp://127.0.0.1:{port}")
        kernel.send(b"ready")
        await client.recv()
        awaited = asyncio.ensure_future(client.poll(20_000))
        await asyncio.sleep(0.05)
        kernel.send(b"reply")
        time.sleep(0.2)  # it is there, and the loop has not looked
        kind(client).sync_state()
        done, _ = await asyncio.wait([awaited], timeout=10)
        awaited.cancel()
        client.linger = kernel.linger = 0
        return len(done)


def test_a_reply_that_comes_while_it_sends_is_heard():
    assert asyncio.run(_heard(hearing(Sends))) == 1
