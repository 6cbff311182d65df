"""Draws the sweep: time and bus bandwidth over size."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from benchmarks.contest import Series
from benchmarks.sweep import bus_bandwidth_mb_s, medians, size_text


def draw(series: Mapping[str, Series], path: Path) -> bool:
    """Writes an SVG and returns whether it could: matplotlib is in the extra `bench`."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    import matplotlib as mpl

    mpl.use("svg")
    # The same numbers give the same file.
    mpl.rcParams["svg.hashsalt"] = "paceline"
    from matplotlib import pyplot as plt

    figure, (times, bandwidths) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    sizes: set[int] = set()
    for mine in series.values():
        found = medians(mine)
        if not found:
            continue
        sizes |= set(found)
        times.plot(list(found), list(found.values()), marker="o", label=mine.title)
        bandwidths.plot(list(found), [bus_bandwidth_mb_s(size, ms) for size, ms in found.items()], marker="o")
    for axes, title in ((times, "time, ms"), (bandwidths, "bus bandwidth, MB/s")):
        axes.set(xscale="log", yscale="log", title=title, xlabel="size")
        ticks = sorted(sizes)[::2]
        axes.set_xticks(ticks, [size_text(size) for size in ticks], rotation=45)
        axes.minorticks_off()
        axes.grid(visible=True, alpha=0.3)
    times.legend()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return True
