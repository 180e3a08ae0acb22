"""What do several measured files carry, at a glance? One page: libraries down, architectures across.

The page is one file without scripts or anything fetched, and says so to the browser. Names come from hostile
files: every text is spelled without control characters and escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from atoll.accel import AccelSet, Entry
from atoll.packaging.combine import natural
from atoll.packaging.values import Report

MAX_ROWS = 2000
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem;
  color: #1c2430; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { border-collapse: collapse; } caption { text-align: left; color: #556; }
th, td { border: 1px solid #cdd3dc; padding: .2rem .5rem; text-align: center; white-space: nowrap; }
thead th { background: #f1f4f8; } tbody th { text-align: left; font-weight: normal; }
.code { background: #cfe8d5; } .floor { background: #dbe6fb; } .some { background: #f6efd0; }
.unknown { background: #fbdcd6; } dt { font-weight: 600; }
dd { margin: 0 0 .4rem 1rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e8ee; background: #14181f; } thead th { background: #222935; }
  th, td { border-color: #3a4454; }
  caption { color: #9aa5b5; } .code { background: #1f4a2c; } .floor { background: #23365c; }
  .some { background: #4a4320; } .unknown { background: #5c2a22; } }
"""
_LEGEND = (
    ("code", "&#9679;", "machine code for the architecture"),
    ("floor", "&#8805; n", "portable code for architectures from n on"),
    ("some", "v", "carried, with the version that its bytes state"),
    ("unknown", "?", "device code that no reader understands"),
)

Column = tuple[str, str]  # backend and arch; ">=" for its floor, "" for a backend without either


def page(reports: Sequence[Report]) -> str:
    """Return the page on some measured files."""
    body = "".join(line for report in reports for line in _file(report))
    legend = " &nbsp; ".join(
        f'<span class="{name}">&nbsp;{sign}&nbsp;</span> {text}' for name, sign, text in _LEGEND
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>What {len(reports)} measured files run on</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><h1>What they run on, as their bytes say</h1>\n<p>{legend}</p>\n{body}</body></html>\n"
    )


def plain(text: str) -> str:
    """Return a text as it may stand in the page: no control or direction character, nothing of HTML."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return escape(shown)


def _file(report: Report) -> Iterator[str]:
    measured = report.measured
    members = report.members()
    yield f"<h2>{plain(measured.path)}</h2>\n<dl>"
    accel = "unknown" if measured.accel is None else str(measured.accel) or "none"
    yield _row("accel", [accel])
    yield _row("requires", [str(fact) for fact in measured.requires])
    yield _row("declared", measured.declared)
    yield _row("unread", [f"{name}: {reason}" for name, reason in measured.unread])
    yield "</dl>\n"
    if members:
        yield from _table(members, measured.path)


def _row(name: str, texts: Sequence[str]) -> str:
    if not texts:
        return ""
    more = [f"and {len(texts) - MAX_ROWS} more"] if len(texts) > MAX_ROWS else []
    values = "<br>".join(plain(text) for text in (*texts[:MAX_ROWS], *more))
    return f"<dt>{name}</dt><dd>{values}</dd>"


def _table(members: dict[str, AccelSet | None], path: str) -> Iterator[str]:
    columns = sorted({column for accel in members.values() for column in _columns(accel)}, key=_order)
    backends = dict.fromkeys(backend for backend, _ in columns)
    yield f'<div class="wide"><table><caption>{len(members)} files with device code</caption><thead>'
    if columns:
        spans = {name: sum(backend == name for backend, _ in columns) for name in backends}
        heads = "".join(f'<th colspan="{count}">{plain(name)}</th>' for name, count in spans.items())
        yield f'<tr><th rowspan="2">file</th>{heads}</tr><tr>'
        yield "".join(f"<th>{plain(arch) if arch != '>=' else 'floor'}</th>" for _, arch in columns) + "</tr>"
    yield "</thead><tbody>\n"
    for name, accel in list(members.items())[:MAX_ROWS]:
        short = name.removeprefix(f"{path}!").removeprefix(f"{path}/")
        yield f'<tr><th scope="row">{plain(short)}</th>{"".join(_cells(accel, columns))}</tr>\n'
    if len(members) > MAX_ROWS:
        yield f"<tr><th>and {len(members) - MAX_ROWS} more</th></tr>\n"
    yield "</tbody></table></div>\n"


def _columns(accel: AccelSet | None) -> Iterator[Column]:
    for entry in accel or ():
        yield from ((entry.backend, arch) for arch in entry.archs)
        if entry.floor is not None:
            yield entry.backend, ">="
        if not entry.archs and entry.floor is None:
            yield entry.backend, ""


def _order(column: Column) -> tuple[object, ...]:
    backend, arch = column
    return backend, arch == ">=", natural(arch)


def _cells(accel: AccelSet | None, columns: Sequence[Column]) -> Iterable[str]:
    if accel is None:
        return [f'<td class="unknown" colspan="{max(1, len(columns))}">? unknown</td>']
    return [_cell(accel.get(backend), arch) for backend, arch in columns]


def _cell(entry: Entry | None, arch: str) -> str:
    if entry is None:
        return "<td></td>"
    if arch == ">=":
        return (
            f'<td class="floor">&#8805; {plain(str(entry.floor.value))}</td>' if entry.floor else "<td></td>"
        )
    if arch:
        return '<td class="code">&#9679;</td>' if arch in entry.archs else "<td></td>"
    bare = not entry.archs and entry.floor is None
    return f'<td class="some">{plain(str(entry.version or "yes"))}</td>' if bare else "<td></td>"
