"""Draw charts over time, as HTML pages that need no network.

A chart draws sums over equal parts of a window.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from datetime import timedelta
from html import escape
from pathlib import Path
from typing import Any

from bastion.model.errors import BastionError
from bastion.schedule.time_integral import TimeIntegral, Window

PARTS = 60
"""The number of points in time of a chart."""

SHOWN = 10
"""The number of entries that are drawn one by one; the others are drawn as one."""

PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B0A800", "#8C6D9F", "#7F9C4D", "#C4928A", "#AAAAAA"
)  # fmt: skip
"""Colours that colour-blind people can distinguish. One is for each entry, and one for all others together."""
INK = "#222222"

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: #222; }}
.few {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(22em, 1fr)); gap: 1em; }}
pre {{ overflow-x: auto; background: #f6f6f6; padding: 1em; }}
</style>
</head>
<body>
<h1>{title}</h1>
"""


def page(title: str, parts: Iterable[str], numbers: str) -> str:
    """Return a whole page: its title, its HTML parts, and below them a table as text."""
    return "\n".join([_HEAD.format(title=escape(title)), *parts, f"<pre>{escape(numbers)}</pre>\n</body>\n</html>\n"])


def heading(text: str) -> str:
    """Return a heading."""
    return f"<h2>{escape(text)}</h2>"


def few(charts: Iterable[str]) -> str:
    """Return small charts side by side."""
    return "\n".join(['<div class="few">', *(f"<div>{chart}</div>" for chart in charts), "</div>"])


def save(path: Path, text: str) -> None:
    """Write a page to its file, whole or not at all.

    Raises `BastionError` if another kind of file is there, or if the folder cannot be written.
    """
    if path.exists() and not _is_page(path):
        raise BastionError(f"{path} exists and is not an HTML page; remove it, or name another file")
    folder = path.parent
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise BastionError(f"{path} cannot be written: {error.strerror}; name a file in a folder of yours") from error
    new = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        new.chmod(0o666 & ~_umask())  # mkstemp makes private files; a page gets the usual mode
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _is_page(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(512).lstrip().lower().startswith((b"<!doctype html", b"<html"))


def _umask() -> int:
    mask = os.umask(0o077)  # the mask can only be read by setting it
    os.umask(mask)
    return mask


def stacked(
    window: Window, using: Sequence[tuple[str, TimeIntegral | None]], there: TimeIntegral | None, *, title: str
) -> str:
    """Draw each entry's use, one on top of the other, the first lowest, and a line for what there was.

    Entries beyond `SHOWN` are drawn as one.
    """
    series = [(who, means(window, meter)) for who, meter in using[:SHOWN]]
    if len(using) > SHOWN:
        rest = [means(window, meter) for _, meter in using[SHOWN:]]
        series.append((f"{len(rest)} others", _sums(rest)))
    colors = [*PALETTE[: len(series)][::-1], INK]
    chart = _chart(window, colors, labels=8, title=title, height=380, width=1100)
    for at in range(len(series), 0, -1):  # tallest first: later series are drawn on top
        who, own = series[at - 1]
        tops = zip(_sums([values for _, values in series[:at]]), own, strict=True)
        chart.add(who, [{"value": top, "formatter": lambda _, mean=mean: f"{mean:g}"} for top, mean in tops], fill=True)
    limit = means(window, there)
    if any(limit):
        chart.add("there is", limit, show_dots=False)
    return _svg(chart)


def against_share(
    window: Window, filled: Sequence[tuple[str, TimeIntegral | None]], share: TimeIntegral | None, *, title: str
) -> str:
    """Draw what one project used, and its share."""
    chart = _chart(window, [*PALETTE[: len(filled)], INK], labels=3, title=title, height=300, width=540)
    for what, meter in filled:
        chart.add(what, means(window, meter), fill=True)
    chart.add("share", means(window, share), show_dots=False)
    return _svg(chart)


def means(window: Window, meter: TimeIntegral | None) -> list[float]:
    """Return the average units that were held in each part of the window."""
    if meter is None:
        return [0.0] * window.parts
    lengths = (window.edge(part + 1) - window.edge(part) for part in range(window.parts))
    return [round(units / max(1, length), 3) for units, length in zip(meter.sums, lengths, strict=True)]


def _chart(window: Window, colors: Sequence[str], *, labels: int, **more: Any) -> Any:
    """Return an empty chart over the window, with these colours and about `labels` labels of time."""
    import pygal
    from pygal.style import Style

    shape = "%m-%d" if window.until - window.since > timedelta(days=labels) else "%m-%d %H:%M"
    starts = [window.since + timedelta(microseconds=window.edge(part)) for part in range(window.parts)]
    return pygal.Line(
        **more,
        style=Style(
            background="transparent",
            plot_background="transparent",
            guide_stroke_color="#dddddd",
            major_guide_stroke_color="#dddddd",
            stroke_width="2.5",
            opacity="1",
            colors=tuple(colors),
        ),
        x_labels=[start.strftime(shape) for start in starts],
        x_labels_major_every=max(1, window.parts // labels),
        show_minor_x_labels=False,
        truncate_label=-1,
        truncate_legend=24,
        dots_size=1.5,
        include_x_axis=True,
        legend_at_bottom=True,
        disable_xml_declaration=True,
        js=[],
    )


def _sums(series: Sequence[Sequence[float]]) -> list[float]:
    return [round(sum(column), 3) for column in zip(*series, strict=True)]


def _svg(chart: Any) -> str:
    chart.add_xml_filter(_without_scripts)
    text: str = chart.render(is_unicode=True)
    return text


def _without_scripts(root: Any) -> Any:
    """Return the drawing without scripts from elsewhere. The browser itself shows the values, as titles."""
    for parent in list(root.iter()):
        for element in list(parent):
            if str(element.tag).endswith("script"):
                parent.remove(element)
            elif str(element.tag).endswith("desc") and element.get("class") == "value":
                element.tag = element.tag.replace("desc", "title")
    return root
