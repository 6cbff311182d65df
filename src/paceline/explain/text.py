"""An explanation for a person."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from paceline.explain.judge import Explanation
from paceline.explain.scan import Hit, Reading, Seen
from paceline.failures.row import Kind
from paceline.failures.table import family_of

_WIDTH = 100
_SHOWN_OTHERS = 6


def lines_of(explanation: Explanation, *, shows_all: bool = False) -> list[str]:
    """Returns what is known in one paragraph, then the fix, and where it stands.

    Args:
        explanation: What is known.
        shows_all: List everything that was recognised, noise too.
    """
    if not explanation.is_found:
        return [*_not_found(explanation.looked_at), *(_all(explanation) if shows_all else [])]
    text = textwrap.wrap(_paragraph(explanation), _WIDTH, break_long_words=False, break_on_hyphens=False)
    first = explanation.first
    if explanation.fix:
        text.append(_labelled("fix", explanation.fix))
    if first is not None:
        text.append(_labelled("line", f"{_place(first)}: {first.text}"))
        if first.script is not None:
            text.append(_labelled("script", str(first.script)))
        text.append(_labelled("source", first.row.source))
    text += [
        _labelled("not read", f"{reading.file}: {reading.gap}") for reading in explanation.looked_at if reading.gap
    ]
    count = sum(seen.count for seen in explanation.noise)
    if shows_all:
        text += _all(explanation)
    elif count or len(explanation.others) > _SHOWN_OTHERS:
        text.append(
            _labelled("more", f"{count} lines of noise and {len(explanation.others)} other kinds: --all lists them")
        )
    return text


def _paragraph(explanation: Explanation) -> str:
    first = explanation.first
    sentences = [explanation.said]
    if first is not None:
        if not explanation.said:
            when = f" at {first.moment}" if first.moment is not None else ""
            is_lost = first.row.kind is Kind.CONSEQUENCE
            if explanation.who:
                who = explanation.who.replace("worker ", "Worker ", 1)
                sentences.append(f"{who} failed first{when}:")
            elif not is_lost:
                sentences.append(f"The first failure{when}, by its {explanation.by}:")
        sentences.append(explanation.meaning if explanation.meaning.endswith((".", "!")) else explanation.meaning + ".")
        if first.row.kind is Kind.CONSEQUENCE:
            sentences.append("This is what others saw; no line here says why it began.")
    else:
        sentences.append("No line of its logs is known to say why.")
    after = [seen for seen in explanation.others if seen.first.row.kind is Kind.CONSEQUENCE][:_SHOWN_OTHERS]
    if after and first is not None and first.row.kind is Kind.CAUSE:
        names = ", ".join(dict.fromkeys(seen.first.row.name for seen in after))
        sentences.append(f"What follows from it: {names}.")
    return " ".join(sentence for sentence in sentences if sentence)


def _not_found(readings: Sequence[Reading]) -> list[str]:
    text = ["Nothing here is known to be a failure."]
    for reading in readings:
        text.append(_labelled("looked at", f"{reading.file}: {reading.num_lines} lines, {reading.num_bytes} bytes"))
        if reading.gap:
            text.append(_labelled("not read", reading.gap))
        text += [f"  | {line}" for line in list(reading.last_lines)[-12:]]
    return text


def _all(explanation: Explanation) -> list[str]:
    rows = [*explanation.others, *explanation.noise]
    return [_labelled("seen", _one(seen)) for seen in sorted(rows, key=lambda seen: seen.first.order)]


def _one(seen: Seen) -> str:
    hit = seen.first
    times = f", {seen.count} times to line {seen.last.number}" if seen.count > 1 else ""
    worker = f" (worker {hit.worker})" if hit.worker else ""
    return f"{hit.row.kind.value}: {family_of(hit.row)}/{hit.row.name} at {_place(hit)}{worker}{times}"


def _place(hit: Hit) -> str:
    return f"{hit.file}:{hit.number}" if hit.number else hit.file


def _labelled(label: str, text: str) -> str:
    return f"  {label + ':':<11}{text}"
