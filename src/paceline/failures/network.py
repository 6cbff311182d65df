"""Lines about the network: names, connections, ssh, downloads."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _AFTER = Kind.CAUSE, Kind.CONSEQUENCE
_PY = "https://docs.python.org/3/library/"

ROWS = (
    Row(
        "ssh-publickey",
        _CAUSE,
        r"(?P<host>\S+?): Permission denied \([\w,-]*publickey[\w,-]*\)",
        "{host} does not accept this key: ssh cannot start a worker there.",
        "ssh-copy-id {host}, or name the key: ssh -i KEY {host}",
        "https://man.openbsd.org/ssh",
    ),
    Row(
        "ssh-host-key",
        _CAUSE,
        r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED",
        "ssh does not know this host, or the host is another one than before.",
        "ssh-keyscan HOST >> ~/.ssh/known_hosts (ssh-keygen -R HOST first, where it was made anew)",
        "https://man.openbsd.org/ssh-keyscan",
    ),
    Row(
        "ssh-connect",
        _CAUSE,
        r"ssh: connect to host (?P<host>\S+) port (?P<port>\d+): (?P<why>.*)",
        "ssh cannot reach {host}, port {port}: {why}.",
        "nc -vz {host} {port}; start sshd there, or open the firewall",
        "https://man.openbsd.org/ssh",
    ),
    Row(
        "ssh-name",
        _CAUSE,
        r"ssh: Could not resolve hostname (?P<host>\S+?):",
        "The name {host} is not known here.",
        "getent hosts {host}; then a line in /etc/hosts or ~/.ssh/config",
        "https://man.openbsd.org/ssh_config",
    ),
    Row(
        "dns-grpc",
        _CAUSE,
        r"DNS resolution failed(?: for (?P<host>[^\s:]+))?|C-ares status is not ARES_SUCCESS",
        "The name of a peer is not known (yet): wrong, or its pod or service is not there.",
        "getent hosts NAME from here; in Kubernetes wait for it in an init container, or start all pods as one gang",
        "https://github.com/kubeflow/trainer/issues/1458",
    ),
    Row(
        "dns-name",
        _CAUSE,
        r"Name or service not known|Temporary failure in name resolution|Could not resolve host(?:name)?\b"
        r"|nodename nor servname provided",
        "The name of a host is not known here, or the network is not there.",
        "getent hosts NAME; cat /etc/resolv.conf; on nodes without internet download the data before the job",
        _PY + "socket.html#socket.gaierror",
    ),
    Row(
        "url-fetch",
        _CAUSE,
        r"URL fetch failure on (?P<url>\S+?):? ",
        "A download failed: {url}.",
        "download it on a machine that has internet, and put it into ~/.keras/datasets",
        "https://keras.io/api/utils/python_utils/",
    ),
    Row(
        "certificate",
        _CAUSE,
        r"CERTIFICATE_VERIFY_FAILED",
        "The certificate of a server cannot be checked: no certificates here, or a proxy changes them.",
        "pip install -U certifi; export SSL_CERT_FILE=$(python -m certifi)",
        _PY + "ssl.html",
    ),
    Row(
        "http-denied",
        _CAUSE,
        r"HTTP Error (?P<code>\d{3})|\b(?P<code2>4\d\d) Client Error",
        "A server refuses a download (HTTP {code}): 401 and 403 no rights, 404 not there, 429 too many requests.",
        "log in to it, or download once and read from a disk",
        _PY + "urllib.error.html",
    ),
    Row(
        "cannot-assign-address",
        _CAUSE,
        r"Cannot assign requested address",
        "The process is told to listen at an address that is not this host's.",
        "ip -br addr shows this host's; correct TF_CONFIG's entry for it, or NCCL_SOCKET_IFNAME",
        "https://github.com/NVIDIA/nccl/issues/1099",
    ),
    Row(
        "no-route",
        _CAUSE,
        r"No route to host|Network is unreachable",
        "Another host cannot be reached: a firewall, or another network.",
        "ping HOST; ip route get HOST; open the ports of TF_CONFIG in the firewall",
        _PY + "errno.html",
    ),
    Row(
        "connection-refused",
        _CAUSE,
        r"Connection refused",
        "Nobody listens at that address: the peer or service does not run (any more), or the port is wrong.",
        "ss -ltn on that host shows what listens; start it first",
        _PY + "exceptions.html#ConnectionRefusedError",
    ),
    Row(
        "connection-timed-out",
        _CAUSE,
        r"Connection timed out",
        "Another host does not answer: a firewall drops the packets, or the host is down.",
        "nc -vz HOST PORT; open the port in the firewall",
        _PY + "errno.html",
    ),
    Row(
        "deadline-exceeded",
        _AFTER,
        r"Deadline Exceeded|DEADLINE_EXCEEDED|DeadlineExceededError",
        "A peer did not answer in time: it hangs, is overloaded, or cannot be reached.",
        "look at the output of the other workers; nc -vz HOST PORT",
        "https://grpc.io/docs/guides/deadlines/",
    ),
)
