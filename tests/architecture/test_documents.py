"""The map, the decisions and the changelog are true: each is read and compared with the tree."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def table(text: str, head: str) -> list[list[str]]:
    """Return the cells of the Markdown table that starts with `head`, without its head."""
    lines = text[text.index(f"| {head} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def rooms(text: str) -> dict[str, int]:
    """Return the level that the map gives each room."""
    return {room.strip("`"): int(level.removeprefix("L")) for level, room, *_ in table(text, "level")}


def folders(text: str) -> dict[str, set[str]]:
    """Return what the map says that each plugin folder brings; ``–`` for one that others share."""
    rows = table(text, "folder")
    return {folder.strip("`"): set(brings.split(", ")) - {"–"} for folder, _, brings in rows}


def layers() -> dict[str, int]:
    """Return the level that the import contract gives each room."""
    listed = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    levels = [re.split(r"\s*\|\s*", layer) for layer in reversed(listed)]
    return {room: level for level, names in enumerate(levels) for room in names if room != "__main__"}


def brought() -> dict[str, set[str]]:
    """Return what each plugin folder brings by the entry points of the project."""
    found: dict[str, set[str]] = defaultdict(set)
    for group, points in PROJECT["project"]["entry-points"].items():
        for value in points.values():
            package, _, rest = value.partition(".")
            if package == "atoll_plugins":
                found[rest.partition(".")[0]].add(group.removeprefix("atoll.").removesuffix("s"))
    return found


def holding(folder: Path) -> set[str]:
    """Return the names of the packages and modules in a folder; what holds no file of ours is none."""
    inside = {path.name for path in folder.iterdir() if path.is_dir() and any(sources(path))}
    return inside | {path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")}


def sources(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def test_the_map_lists_every_room_at_its_level() -> None:
    assert rooms(MAP) == layers()
    assert rooms(MAP).keys() == holding(ROOT / "src/atoll")


def test_the_map_lists_every_plugin_folder_and_what_it_brings() -> None:
    here = holding(ROOT / "src/atoll_plugins")
    assert folders(MAP) == {folder: brought().get(folder, set()) for folder in here}
    assert brought().keys() <= here


def beside() -> set[str]:
    """Return the folders beside `src`, those of the tests one by one; hidden ones and caches are none."""
    tops = [path for path in ROOT.iterdir() if path.is_dir() and path.name not in ("src", "tests")]
    every = [*tops, *(path for path in (ROOT / "tests").iterdir() if path.is_dir())]
    return {
        path.relative_to(ROOT).as_posix()
        for path in every
        if not path.name.startswith((".", "__")) and tracked(path)
    }


def tracked(folder: Path) -> bool:
    """Tell whether a folder holds a file that is not ignored."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", str(folder)]
    return bool(subprocess.run(listed, cwd=ROOT, capture_output=True, check=False).stdout)


def named(text: str) -> set[str]:
    """Return the folders that the map's last table names."""
    rows = table(text[text.index("## Beside `src`") :], "folder")
    return {name for first, *_ in rows for name in re.findall(r"`([^`]+)`", first)}


def test_the_map_names_every_folder_beside_the_engine() -> None:
    assert named(MAP) == beside()
    assert named(re.sub(r"\| `tests/e2e` .*\n", "", MAP)) != beside()


def test_the_map_names_every_entry_point_group() -> None:
    assert set(re.findall(r"`(atoll\.[a-z]+s)`", MAP)) >= set(PROJECT["project"]["entry-points"])


def test_a_room_and_a_folder_that_the_map_lacks_are_seen(tmp_path: Path) -> None:
    assert rooms(MAP.replace("| L5 | `store` |", "| L4 | `store` |")) != layers()
    assert "store" not in rooms(re.sub(r"\| L5 \| `store` .*\n", "", MAP))
    assert folders(MAP.replace("| driver, emitter |", "| driver |")) != brought()
    (tmp_path / "stray/__pycache__").mkdir(parents=True)
    (tmp_path / "stray/__pycache__/a.pyc").touch()
    assert holding(tmp_path) == set()
    (tmp_path / "stray/a.c").touch()
    assert holding(tmp_path) == {"stray"}


def dead_links(page: Path) -> list[str]:
    """Return the links of a page to a file that is not there."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = (link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link)
    return [link for link in links if link and not (page.parent / link).exists()]


def test_every_link_of_a_page_leads_to_a_file(tmp_path: Path) -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("README.md")]
    assert len(pages) > 100
    assert not {str(page.relative_to(ROOT)): dead for page in pages if (dead := dead_links(page))}
    (tmp_path / "a.md").write_text("[a](a.md#b) [`k`](gone.md) `k[1](2)` [c](https://x.org/y)\n")
    assert dead_links(tmp_path / "a.md") == ["gone.md"]


def faults_of_decisions(folder: Path) -> list[str]:
    """Return the decisions whose number is taken or is not the number of their title."""
    faults = []
    seen: dict[str, str] = {}
    for path in sorted(folder.glob("[0-9]*.md")):
        number = path.name[:4]
        if seen.setdefault(number, path.name) != path.name:
            faults.append(f"{path.name}: {number} is {seen[number]} too")
        if not re.match(rf"# {number} \S", path.read_text(encoding="utf-8")):
            faults.append(f"{path.name}: the title does not start with {number}")
    return faults


def test_every_decision_has_a_number_of_its_own() -> None:
    assert len(list((ROOT / "docs/decisions").glob("*.md"))) > 30
    assert not faults_of_decisions(ROOT / "docs/decisions")


def test_a_number_that_is_used_twice_is_seen(tmp_path: Path) -> None:
    (tmp_path / "0001-a.md").write_text("# 0001 A\n")
    (tmp_path / "0001-b.md").write_text("# 0002 B\n")
    first, second = faults_of_decisions(tmp_path)
    assert "0001 is 0001-a.md too" in first
    assert "does not start with 0001" in second


def test_every_fragment_enters_the_changelog() -> None:
    kinds = {row["directory"] for row in PROJECT["tool"]["towncrier"]["type"]}
    fragments = [path for path in (ROOT / "changelog.d").iterdir() if not path.name.startswith(".")]
    passed_over = [path.name for path in fragments if not re.fullmatch(r"[\w-]+\.(\w+)\.md", path.name)]
    passed_over += [path.name for path in fragments if path.name.split(".")[1] not in kinds]
    assert kinds == {"added", "changed", "fixed", "removed"}
    assert not passed_over, "towncrier passes over a fragment of another kind in silence"
