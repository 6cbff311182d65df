"""A PMI-1 server over inherited socket pairs: how MPI ranks of one host find each other.

``mpiexec`` and the ranks it starts listen on TCP ports. Ranks started by our own launcher need
none: each inherits one end of a socket pair (``PMI_FD``) and asks this server, which answers from
one dictionary, for the addresses of its peers' shared memory.

Wire format: lines of ``cmd=NAME key=value ...``, answered one by one. The server is one thread
in the launcher and is idle once every rank has called ``MPI_Init``.

*Source:* MPICH ``src/pmi/src/pmi_v1.c`` and ``pmi_wire.c``; tried with the wheels mpich 5.0.2 and mpi4py 4.1.2.
"""

from __future__ import annotations

import os
import secrets
import selectors
import socket
import threading
from collections.abc import Mapping

# Shared memory only: without UCX_TLS each rank listens on two TCP ports (seen with ss; mpich 5.0.2, whose
# device is ch4:ucx). FI_PROVIDER does the same for builds upon libfabric.
SHARED_MEMORY_ONLY: Mapping[str, str] = {
    "UCX_TLS": "self,sm",
    "FI_PROVIDER": "shm",
}

# A waiting rank polls, and sched_yield alone leaves the core to nobody: with two ranks a core, one computing 7 ms
# and one waiting, a step took 25 ms, and 11 ms with this. It costs a small all-reduce 0.2 ms instead of 0.02 ms
# (4 ranks on 2 cores, mpich 5.0.2), so it is for crowded machines only.
LEAVE_THE_CORE: Mapping[str, str] = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}

# Between two looks at whether every rank has mapped the shared memory.
_LOOK_S = 0.2
_FIXED_ANSWERS = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
    "get_maxes": "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=4096",
    "get_appnum": "cmd=appnum rc=0 appnum=0",
    "finalize": "cmd=finalize_ack rc=0",
}


class PmiServer:
    """Serves one job of ``num_ranks`` ranks on this host.

    Example::

        server = PmiServer(num_ranks=2)
        server.start()
        for rank in range(2):
            fd = server.child_fd(rank)
            subprocess.Popen(cmd, env=env | server.environment(rank), pass_fds=[fd])
        server.close_child_ends()
        ...
        server.close()

    Args:
        num_ranks: Ranks of ``MPI_COMM_WORLD``.
        is_crowded: There are more ranks than cores, so that a waiting rank must leave its core to another.
    """

    def __init__(self, num_ranks: int, *, is_crowded: bool = False) -> None:
        self._is_crowded = is_crowded
        self._num_ranks = num_ranks
        self._pairs = [socket.socketpair() for _ in range(num_ranks)]
        # MPICH names the shared memory after this; a name met twice would join two jobs.
        self._name = f"paceline_{os.getpid()}_{secrets.token_hex(8)}"
        # Tells MPICH that all ranks share this host.
        self._store: dict[str, str] = {"PMI_process_mapping": f"(vector,(0,1,{num_ranks}))"}
        self._at_barrier: set[int] = set()
        self._pids: dict[int, int] = {}
        self._asked: set[int] = set()  # ranks that have begun MPI_Init
        self._mapped: set[int] = set()  # ranks that have mapped the shared memory
        self._shared_memory: set[str] = set()
        self._stop_reader, self._stop_writer = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="pmi-server", daemon=True)

    def environment(self, rank: int) -> dict[str, str]:
        """Returns the variables that rank ``rank`` needs besides the descriptor."""
        return {
            **SHARED_MEMORY_ONLY,
            **(LEAVE_THE_CORE if self._is_crowded else {}),
            "PMI_FD": str(self.child_fd(rank)),
            "PMI_RANK": str(rank),
            "PMI_SIZE": str(self._num_ranks),
        }

    def child_fd(self, rank: int) -> int:
        """Returns the descriptor that the process of rank ``rank`` must inherit."""
        return self._pairs[rank][1].fileno()

    def adopt(self, rank: int, pid: int) -> None:
        """Says which process has which rank, so that its shared memory is not left behind."""
        self._pids[rank] = pid

    def start(self) -> None:
        """Starts to answer, in a thread."""
        self._thread.start()

    def close_child_ends(self) -> None:
        """Closes the launcher's copies of the inherited ends, once every rank is started."""
        for _, child in self._pairs:
            child.close()

    def close(self) -> None:
        """Stops the thread and closes every socket; may be called twice."""
        if self._thread.is_alive():
            self._stop_writer.send(b"x")
            self._thread.join(timeout=2)
        self._unlink()
        for ours, child in self._pairs:
            ours.close()
            child.close()
        self._stop_reader.close()
        self._stop_writer.close()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stop_reader, selectors.EVENT_READ, None)
            for rank, (ours, _) in enumerate(self._pairs):
                selector.register(ours, selectors.EVENT_READ, rank)
            pending = [b""] * self._num_ranks
            while True:
                is_forming = len(self._mapped) < self._num_ranks and bool(self._asked)
                ready = selector.select(_LOOK_S if is_forming else None)
                if is_forming:
                    self._remove_shared_memory_name()
                for key, _ in ready:
                    if key.data is None:
                        return
                    rank = key.data
                    data = _receive(self._pairs[rank][0])
                    if not data:  # the rank has ended; the supervisor sees that too
                        selector.unregister(key.fileobj)
                        continue
                    *lines, pending[rank] = (pending[rank] + data).split(b"\n")
                    for line in lines:
                        self._answer(rank, parse(line.decode("utf-8", "replace")))

    def _answer(self, rank: int, request: Mapping[str, str]) -> None:
        command = request.get("cmd", "")
        self._asked.add(rank)
        if command == "barrier_in":
            self._at_barrier.add(rank)
            if len(self._at_barrier) == self._num_ranks:
                self._at_barrier.clear()
                for peer in range(self._num_ranks):
                    self._send(peer, "cmd=barrier_out rc=0")
            return
        self._send(rank, self._reply(command, request))

    def _remove_shared_memory_name(self) -> None:
        """Removes the name of the ranks' shared memory once all of them have mapped it.

        MPICH removes it in ``MPI_Finalize``; a rank that is killed never gets there, and the file would stay
        in /dev/shm until the machine is restarted.
        """
        for rank in self._asked - self._mapped:
            paths = _shared_memory_of(self._pids.get(rank, 0))
            if paths:
                self._mapped.add(rank)
                self._shared_memory |= paths
        if len(self._mapped) == self._num_ranks:
            self._unlink()

    def _unlink(self) -> None:
        for path in self._shared_memory:
            try:
                os.unlink(path)
            except OSError:  # MPICH has done it
                pass
        self._shared_memory.clear()

    def _reply(self, command: str, request: Mapping[str, str]) -> str:
        """Returns the answer to every command but the barrier."""
        if command in _FIXED_ANSWERS:
            return _FIXED_ANSWERS[command]
        if command == "get_universe_size":
            return f"cmd=universe_size rc=0 size={self._num_ranks}"
        if command == "get_my_kvsname":
            return f"cmd=my_kvsname rc=0 kvsname={self._name}"
        if command == "put":
            self._store[request.get("key", "")] = request.get("value", "")
            return "cmd=put_result rc=0 msg=success"
        if command == "get":
            value = self._store.get(request.get("key", ""))
            if value is None:
                return "cmd=get_result rc=-1 msg=key_not_found value=unknown"
            return f"cmd=get_result rc=0 msg=success value={value}"
        return f"cmd={command}_result rc=-1 msg=unknown_command"

    def _send(self, rank: int, line: str) -> None:
        try:
            self._pairs[rank][0].sendall(line.encode() + b"\n")
        except OSError:  # that rank has ended
            pass


def parse(line: str) -> dict[str, str]:
    """Returns the fields of one request line.

    A value runs to the next blank; ``value=`` of ``put`` runs to the end of the line.

    >>> parse("cmd=put kvsname=k key=a value=x=1 y")
    {'cmd': 'put', 'kvsname': 'k', 'key': 'a', 'value': 'x=1 y'}
    """
    fields: dict[str, str] = {}
    head, mark, value = line.strip().partition(" value=")
    for word in head.split():
        key, _, text = word.partition("=")
        fields[key] = text
    if mark:
        fields["value"] = value
    return fields


def _shared_memory_of(pid: int) -> set[str]:
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            # An unlinked file is marked "(deleted)".
            words = (line.split() for line in file if " /dev/shm/mpich_" in line)
            return {word[5] for word in words}
    except OSError:
        return set()


def _receive(sock: socket.socket) -> bytes:
    try:
        return sock.recv(65536)
    except OSError:
        return b""
