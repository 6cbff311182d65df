"""The rules for one ``host:port``: what is wrong with it, and what it should have been."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from dataclasses import dataclass

from paceline.cluster.findings import Severity, shown

DEFAULT_PORT = 2222
"""The port that TensorFlow's own documentation uses; only ever proposed, never assumed."""

_FIRST_FREE_PORT = 1024
_LAST_PORT = 65535
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?\Z")
_DIGITS = re.compile(r"[0-9]{1,10}\Z")
_IPV4_LIKE = re.compile(r"[0-9]+(\.[0-9]+)*\Z")
_MAX_HOST = 253  # RFC 1035, as text without the last dot


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """A host and a port that gRPC can dial.

    Attributes:
        host: A name or an IP address, without brackets, in lower case.
        port: 1 to 65535.
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the address means "this machine", whichever machine reads it."""
        return is_loopback(self.host)

    @property
    def identity(self) -> tuple[str, int]:
        """What makes two addresses the same socket; every name of the loopback counts as one."""
        return ("localhost" if self.host in {"127.0.0.1", "::1"} else self.host, self.port)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """What is wrong with one address; ``cluster check`` adds the place.

    Attributes:
        severity: As in a finding; with ``warning`` the address can be used all the same.
        code: A stable name for programs.
        text: One sentence.
        expected: What would have been right.
        fix: The address as it was probably meant, or an empty string.
    """

    severity: Severity
    code: str
    text: str
    expected: str = "host:port, for example worker0.example.org:2222"
    fix: str = ""


def is_loopback(host: str) -> bool:
    """Returns whether a host name or IP address means the machine that reads it."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost") or name.startswith("localhost."):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def parse_address(value: object) -> tuple[Address | None, tuple[Fault, ...]]:
    """Returns the address, if it can be used, and what is wrong with it.

    >>> address, faults = parse_address("ssh://me@node1")
    >>> print(address, faults[0].fix)
    None node1:2222
    """
    if not isinstance(value, str):
        return None, (_not_text(value),)
    if not value.strip():
        return None, (Fault(severity="error", code="empty-address", text="an address is empty"),)
    fault = _foreign_form(value)
    if fault is not None:
        return None, (fault,)
    host, port_text, fault = _split(value)
    if fault is not None:
        return None, (fault,)
    port, port_fault = _check_port(host, port_text)
    host_fault = _check_host(host, port_text)
    faults = tuple(f for f in (host_fault, port_fault) if f is not None)
    if port is None or any(f.severity == "error" for f in faults):
        return None, faults
    return Address(host=host.lower(), port=port), faults


def _not_text(value: object) -> Fault:
    fix = f'"HOST:{value}"' if isinstance(value, int) and not isinstance(value, bool) else ""
    return Fault(severity="error", code="address-not-text", text="an address is not a text", fix=fix)


def _foreign_form(value: str) -> Fault | None:
    """Returns the fault of a value that is written as something else than host:port."""
    if not value.isascii():
        meant = unicodedata.normalize("NFKC", value).strip()
        fix = meant if meant.isascii() and meant != value else ""
        text = "an address holds characters that are not ASCII (such as a full-width colon)"
        return Fault(severity="error", code="address-not-ascii", text=text, fix=_meant(fix) if fix else "")
    if value != value.strip():
        text = "an address has white space around it"
        return Fault(severity="error", code="address-space", text=text, fix=_meant(value))
    if "://" in value:
        text = "an address is written as a URL; gRPC wants host:port alone"
        return Fault(severity="error", code="address-url", text=text, fix=_meant(value))
    if "@" in value:
        text = "an address is written in the way of ssh, with a user; TensorFlow does not log in anywhere"
        return Fault(severity="error", code="address-user", text=text, fix=_meant(value))
    if "/" in value:
        text = "an address holds a path; gRPC wants host:port alone"
        return Fault(severity="error", code="address-path", text=text, fix=_meant(value))
    if "," in value or ";" in value:
        text = "several addresses stand in one text; each is an item of the list"
        fix = ", ".join(shown(part.strip()) for part in re.split("[,;]", value) if part.strip())
        return Fault(severity="error", code="address-list", text=text, fix=fix)
    return None


def _meant(value: str) -> str:
    """Returns the host:port that a URL or an ssh target names."""
    rest = value.strip().split("://", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1].strip()
    if not rest:
        return ""
    host, port, fault = _split(rest)
    return rest if fault is None and _DIGITS.match(port) else f"{host or rest}:{DEFAULT_PORT}"


def _split(value: str) -> tuple[str, str, Fault | None]:
    """Returns host and port as texts, or the fault that keeps them from being told apart."""
    if value.startswith("["):
        host, bracket, rest = value[1:].partition("]")
        if not bracket:
            text = "an IPv6 address has no closing bracket"
            return "", "", Fault(severity="error", code="address-brackets", text=text, expected="[ADDRESS]:PORT")
        if not rest.startswith(":"):
            return host, "", _no_port(f"[{host}]")
        return host, rest[1:], _bad_ipv6(host)
    if value.count(":") > 1:
        return "", "", _bare_ipv6(value)
    host, colon, port = value.partition(":")
    return host, port, None if colon and port else _no_port(host)


def _no_port(host: str) -> Fault:
    return Fault(
        severity="error", code="no-port", text="an address has no port", fix=f"{host or 'HOST'}:{DEFAULT_PORT}"
    )


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _bad_ipv6(host: str) -> Fault | None:
    if _is_ipv6(host):
        return None
    text = "what stands in brackets is not an IPv6 address"
    return Fault(severity="error", code="address-brackets", text=text, expected="[ADDRESS]:PORT, as in [fd00::1]:2222")


def _bare_ipv6(value: str) -> Fault:
    head, _, tail = value.rpartition(":")
    fix = ""
    if _is_ipv6(head) and _DIGITS.match(tail):
        fix = f"[{head}]:{tail}"
    elif _is_ipv6(value):
        fix = f"[{value}]:{DEFAULT_PORT}"
    text = "an address holds several colons; an IPv6 address stands in brackets"
    return Fault(severity="error", code="address-brackets", text=text, expected="[fd00::1]:2222", fix=fix)


def _check_port(host: str, text: str) -> tuple[int | None, Fault | None]:
    shown_host = f"[{host}]" if ":" in host else host
    expected = f"a port from {_FIRST_FREE_PORT} to {_LAST_PORT}"
    fix = f"{shown_host}:{DEFAULT_PORT}"
    if not _DIGITS.match(text):
        return None, Fault(
            severity="error", code="port-not-number", text="a port is not a number", expected=expected, fix=fix
        )
    port = int(text)
    if port == 0:
        sentence = "port 0 means any port; the other workers cannot know which"
        return None, Fault(severity="error", code="port-zero", text=sentence, expected=expected, fix=fix)
    if port > _LAST_PORT:
        sentence = "a port is out of range"
        return None, Fault(severity="error", code="port-out-of-range", text=sentence, expected=expected, fix=fix)
    if port < _FIRST_FREE_PORT:
        sentence = "a port below 1024 is privileged: only root may listen on it"
        return port, Fault(severity="warning", code="port-privileged", text=sentence, expected=expected, fix=fix)
    return port, None


def _check_host(host: str, port: str) -> Fault | None:
    if ":" in host:
        return _wildcard(host)
    if _IPV4_LIKE.match(host):
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            text = "a host looks like an IPv4 address and is none"
            return Fault(severity="error", code="host-not-ipv4", text=text, expected="four numbers from 0 to 255")
        return _wildcard(host)
    if not host or len(host) > _MAX_HOST or not _HOST.match(host):
        text = "a host is not a host name" if host else "an address has no host"
        fix = "" if host else f"HOST:{port}"
        return Fault(severity="error", code="host-invalid", text=text, fix=fix)
    return None


def _wildcard(host: str) -> Fault | None:
    if not ipaddress.ip_address(host).is_unspecified:
        return None
    text = "0.0.0.0 can be listened on but not dialled; the other workers need an address of this host"
    return Fault(severity="error", code="host-wildcard", text=text)
