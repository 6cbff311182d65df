"""Free ports on the loopback interface, held until the workers need them."""

from __future__ import annotations

import socket


class HeldPorts:
    """Holds ``count`` different free ports of 127.0.0.1.

    A bound socket that does not listen keeps other programs off the port; with ``SO_REUSEADDR`` a worker
    can bind it as soon as it is released. Between release and use another program could still
    take it: release right before the workers start.
    """

    def __init__(self, count: int) -> None:
        self._sockets = []
        for _ in range(count):
            held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("127.0.0.1", 0))
            self._sockets.append(held)
        self.addresses = tuple(f"127.0.0.1:{held.getsockname()[1]}" for held in self._sockets)

    def release(self) -> None:
        """Lets go of the ports; may be called twice."""
        for held in self._sockets:
            held.close()
