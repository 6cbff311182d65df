"""Lines of MPI: MPICH's and Open MPI's starters and libraries."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _AFTER, _NOISE = Kind.CAUSE, Kind.CONSEQUENCE, Kind.NOISE
_OMPI = "https://docs.open-mpi.org/en/main/"
_MPICH = "https://www.mpich.org/documentation/guides/"

ROWS = (
    Row(
        "mpi-slots",
        _CAUSE,
        r"There are not enough slots available in the system",
        "mpirun may start fewer processes here than were asked for.",
        "mpirun --map-by :OVERSUBSCRIBE ..., or host:slots=8 in the hostfile",
        _OMPI + "launching-apps/scheduling.html",
    ),
    Row(
        "mpi-abort",
        _CAUSE,
        r"(?:Abort\((?P<code>-?\d+)\) on node (?P<rank>\d+)|MPI_ABORT was invoked on rank (?P<rank2>\d+))",
        "A process called MPI_Abort, which ends all: it had failed.",
        "look at the output of that rank, before this line",
        _MPICH,
    ),
    Row(
        "mpi-truncated",
        _CAUSE,
        r"Message truncated|MPI_ERR_TRUNCATE",
        "Two workers exchanged buffers of different sizes: they make different calls, or have different models.",
        "build the same model on every worker, and call fit, evaluate and predict on all of them alike",
        _MPICH,
    ),
    Row(
        "mpi-fatal",
        _CAUSE,
        r"\*\*\* An error occurred in (?P<call>MPI_\w+)|Fatal error in (?P<call2>P?MPI_\w+)",
        "MPI failed in a call of its own.",
        "the lines below it say why; see that all processes use one MPI: ldd of mpi4py's library",
        "https://github.com/open-mpi/ompi/issues/1530",
    ),
    Row(
        "mpi-no-ssh",
        _CAUSE,
        r"ORTE was unable to reliably start one or more daemons|PRTE has lost communication with a remote daemon"
        r"|An ORTE daemon has unexpectedly failed",
        "mpirun cannot start its helper on another host: ssh, PATH or a firewall.",
        "ssh HOST true must work without a password, and ssh HOST which orted must find it",
        _OMPI + "launching-apps/ssh.html",
    ),
    Row(
        "mpi-root",
        _CAUSE,
        r"mpirun has detected an attempt to run as root",
        "Open MPI refuses to run as root.",
        "run it as another user, or in a container: mpirun --allow-run-as-root",
        _OMPI + "launching-apps/",
    ),
    Row(
        "mpi-bad-termination",
        _AFTER,
        r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "A process ended with an error or a signal; the line EXIT CODE below it says which.",
        "look at the output of the processes, above",
        _MPICH,
    ),
    Row(
        "mpi-exit-string",
        _AFTER,
        r"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: (?P<how>.*)",
        "A process was ended: {how}.",
        "look for what was printed before: out of memory, another's failure",
        "https://github.com/cBio/cbio-cluster/issues/256",
    ),
    Row(
        "mpi-rank-signal",
        _AFTER,
        r"noticed that process rank (?P<rank>\d+) .*on node (?P<host>\S+) exited on signal (?P<signal>\d+) "
        r"\((?P<how>[^)]*)\)",
        "Process {rank} on {host} was ended by signal {signal} ({how}).",
        "dmesg | grep -i 'killed process' on {host} shows whether the kernel ran out of memory",
        "https://github.com/open-mpi/ompi/issues/2661",
    ),
    Row(
        "mpi-nonzero",
        _AFTER,
        r"Primary job\s+terminated normally, but \d+ process(?:es)? returned a non-zero exit code"
        r"|mpirun detected that one or more processes exited with non-zero status",
        "A process ended with an error.",
        "look at the output of the processes, above",
        "https://github.com/compas/grasp/issues/118",
    ),
    Row(
        "mpi-collective-abort",
        _AFTER,
        r"[Rr]ank (?P<rank>\d+) in job \d+\s+\S+\s+caused collective abort of all ranks",
        "Process {rank} ended, and all others with it.",
        "look at the output of process {rank}",
        "https://github.com/pmodels/mpich/issues/981",
    ),
    Row(
        "hydra-chatter",
        _NOISE,
        r"\[(?:proxy:\d+:\d+|mpiexec)@\S+\] (?:HYD|main|Sending|launch)",
        "MPICH's starter cleans up.",
        "",
        "https://github.com/cBio/cbio-cluster/issues/256",
    ),
)
