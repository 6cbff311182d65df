import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.cluster.address import is_loopback, parse_address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("192.168.1.10:2222", "192.168.1.10", 2222),
        ("Worker0.Example.org:65535", "worker0.example.org", 65535),
        ("job-worker-0.ns.svc:2222", "job-worker-0.ns.svc", 2222),
        ("my_host:1024", "my_host", 1024),
        ("[fd00::1]:2222", "fd00::1", 2222),
        ("localhost:2222", "localhost", 2222),
    ],
)
def test_good_addresses(text, host, port):
    address, faults = parse_address(text)
    assert (address.host, address.port, faults) == (host, port, ())
    assert str(address) == text.lower()


@pytest.mark.parametrize(
    ("value", "code", "fix"),
    [
        ("192.168.1.10", "no-port", "192.168.1.10:2222"),
        ("host:", "no-port", "host:2222"),
        ("[fd00::1]", "no-port", "[fd00::1]:2222"),
        ("host:0", "port-zero", "host:2222"),
        ("host:0000", "port-zero", "host:2222"),
        ("host:65536", "port-out-of-range", "host:2222"),
        ("host:http", "port-not-number", "host:2222"),
        ("host:-1", "port-not-number", "host:2222"),
        ("grpc://host:2222", "address-url", "host:2222"),
        ("http://host/", "address-url", "host:2222"),
        ("ssh://me@host:22", "address-url", "host:22"),
        ("me@host", "address-user", "host:2222"),
        ("me@host:2222", "address-user", "host:2222"),
        ("host:2222/path", "address-path", "host:2222"),
        (" host:2222", "address-space", "host:2222"),
        ("a:2222,b:2222", "address-list", '"a:2222", "b:2222"'),
        ("192.168.1.10\uff1a2222", "address-not-ascii", "192.168.1.10:2222"),
        ("b\u00fccher:2222", "address-not-ascii", ""),
        ("fd00::1:2222", "address-brackets", "[fd00::1]:2222"),
        ("::1", "address-brackets", None),
        ("[fd00::1:2222", "address-brackets", ""),
        ("[host]:2222", "address-brackets", ""),
        ("300.1.1.1:2222", "host-not-ipv4", ""),
        ("192.168.1:2222", "host-not-ipv4", ""),
        ("0.0.0.0:2222", "host-wildcard", ""),
        ("[::]:2222", "host-wildcard", ""),
        ("ho st:2222", "host-invalid", ""),
        (":2222", "host-invalid", "HOST:2222"),
        ("", "empty-address", ""),
        (2222, "address-not-text", '"HOST:2222"'),
        (True, "address-not-text", ""),
        (None, "address-not-text", ""),
        (["a:2222"], "address-not-text", ""),
    ],
)
def test_bad_addresses_are_named_and_mended(value, code, fix):
    address, faults = parse_address(value)
    assert address is None
    assert faults[0].code == code
    assert fix is None or faults[0].fix == fix


def test_a_privileged_port_is_a_warning():
    address, faults = parse_address("host:80")
    assert address.port == 80
    assert [(fault.severity, fault.code) for fault in faults] == [("warning", "port-privileged")]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.0.1.1", "::1", "localhost.localdomain"])
def test_loopback(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["host", "128.0.0.1", "localhosts", "fd00::1"])
def test_not_loopback(host):
    assert not is_loopback(host)


@given(st.text() | st.none() | st.integers() | st.floats() | st.booleans() | st.lists(st.text()))
def test_any_value_gives_an_address_or_a_fault(value):
    address, faults = parse_address(value)
    assert (address is None) == any(fault.severity == "error" for fault in faults)


@given(st.text(alphabet="ab1.:[]@/-,0 ", max_size=20))
def test_a_proposed_fix_of_one_address_is_itself_right(text):
    _, faults = parse_address(text)
    for fault in faults:
        if fault.severity == "error" and fault.code in {"no-port", "port-zero", "port-out-of-range"} and fault.fix:
            _, again = parse_address(fault.fix)
            assert "port" not in "".join(f.code for f in again)
