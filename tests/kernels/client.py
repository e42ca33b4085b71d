"""What Jupyter starts in place of a kernel: asks a `fork_server.py` for one, and ends as that does.

    python -I -S client.py SOCKET ARGUMENTS-OF-THE-KERNEL …

It imports little, since each kernel waits for it.
"""

import array
import json
import os
import signal
import socket
import sys


def main() -> None:
    server, *arguments = sys.argv[1:]
    folder = os.getcwd()  # noqa: PTH109 (`pathlib` takes as long as all else)
    request = {"arguments": arguments, "folder": folder, "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as kernel:

        def pass_on(number: int, _: object) -> None:
            try:  # noqa: SIM105 (`contextlib` takes time to import)
                kernel.send(bytes([number]))
            except OSError:  # the kernel has just ended
                pass

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, pass_on)
        kernel.connect(server)
        text = json.dumps(request).encode() + b"\n"
        streams = array.array("i", [0, 1, 2])
        sent = kernel.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        kernel.sendall(text[sent:])
        said = b""
        while not said.endswith(b"\n"):
            more = kernel.recv(64)
            if not more:
                sys.exit(1)
            said += more
    code = int(said)
    if code < 0:  # by a signal
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
