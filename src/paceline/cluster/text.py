"""From text to a document: JSON, or what people write instead of it."""

from __future__ import annotations

import json
from typing import Any

from paceline.cluster.findings import Finding, Severity, shown
from paceline.cluster.positions import Document, line_and_column, read
from paceline.cluster.python_literal import find_tf_config

EXAMPLE = '{"cluster": {"worker": ["HOST:PORT", ...]}, "task": {"type": "worker", "index": 0}}'


def alone(code: str, text: str, *, where: str = "", severity: Severity = "error", **parts: str) -> Finding:
    """Returns a finding about the text as a whole, which has no path in it."""
    return Finding(severity=severity, code=code, where=where, text=text, **parts)


def document_of(text: str, *, python_is_error: bool) -> tuple[Document | None, list[Finding]]:
    """Returns the decoded text, by whatever way it can be read, and what is wrong with its form."""
    if not text.strip():
        fix = "unset TF_CONFIG"
        return None, [
            alone("empty", "TF_CONFIG is set and empty; TensorFlow stumbles over it", expected=EXAMPLE, fix=fix)
        ]
    try:
        document = read(text)
    except json.JSONDecodeError as error:
        return _document_of_broken(text, error, python_is_error=python_is_error)
    except (ValueError, RecursionError):
        return None, [alone("unreadable", "the JSON is nested too deeply, or holds a number that is too long")]
    if isinstance(document.value, str):
        inner, findings = _unwrapped(document.value)
        return inner, [alone("json-in-text", "the JSON stands in quotes of its own: it was encoded twice"), *findings]
    return document, []


def _unwrapped(text: str) -> tuple[Document | None, list[Finding]]:
    """Returns what stands inside superfluous quotes, if that is a JSON object."""
    try:
        inner = read(text)
    except (ValueError, RecursionError):
        return None, []
    return (inner, []) if isinstance(inner.value, dict) else (None, [])


def _document_of_broken(
    text: str, error: json.JSONDecodeError, *, python_is_error: bool
) -> tuple[Document | None, list[Finding]]:
    """Returns what can be read of a text that is not JSON, and the finding that says so."""
    stripped = text.strip()
    if stripped[0] == stripped[-1] == "'" and len(stripped) > 1:
        inner, _ = _unwrapped(stripped[1:-1])
        if inner is not None:
            text_of = "the quotes of the shell are part of the value"
            return inner, [alone("shell-quotes", text_of, got=shown(stripped, 40), fix="leave out the outer quotes")]
    slip = _is_trailing_comma(text, error.pos) and "'" not in text
    python = None if slip else find_tf_config(text)
    if python is not None:
        where = f"line {python.line}" if python.is_program else ""
        what = "this is a Python program" if python.is_program else "this is a Python literal, not JSON"
        fix = _json_or_nothing(python.value)
        severity: Severity = "error" if python_is_error else "warning"
        finding = alone("python", f"{what}; its dict is checked", where=where, severity=severity, fix=fix)
        return Document(value=_as_json(python.value), text=text, offsets={}, repeated=()), [finding]
    where = line_and_column(text, error.pos)
    got = shown(text[max(0, error.pos - 20) : error.pos + 20])
    fix = _broken_hint(text, error)
    what = f"this is not JSON: {error.msg}"
    return None, [alone("broken-json", what, where=where, got=got, expected=EXAMPLE, fix=fix)]


def _broken_hint(text: str, error: json.JSONDecodeError) -> str:
    """Returns how the text probably came to be broken, as a fix; empty where nothing is known."""
    if text.startswith("\ufeff"):
        return "save the file without a byte-order mark"
    if "'" in text and '"' not in text:
        return "JSON wants double quotes, and single quotes around the whole in a shell"
    if '"' not in text and text.lstrip().startswith("{") and ":" in text:
        return f"the shell took the quotes away: export TF_CONFIG='{EXAMPLE}'"
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
        return "the text ends too early: a closing brace, bracket or quote is missing"
    if _is_trailing_comma(text, error.pos):
        return "take away the comma before the closing brace or bracket"
    return ""


def _is_trailing_comma(text: str, offset: int) -> bool:
    """Returns whether the decoder stopped at a comma without a successor; Python 3.13 stops at the comma itself."""
    before, after = text[:offset].rstrip(), text[offset:].lstrip()
    closing = after[1:].lstrip() if after.startswith(",") else after
    return closing[:1] in {"}", "]"} and (closing is not after or before.endswith(","))


def _json_or_nothing(value: Any) -> str:
    """Returns a value as JSON, or an empty string where JSON has no such value."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return ""


def _as_json(value: Any) -> Any:
    """Returns a Python literal with the types that JSON would give."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else repr(key): _as_json(item) for key, item in value.items()}
    return [_as_json(item) for item in value] if isinstance(value, (list, tuple, set, frozenset)) else value
