"""Where kernels with barriers split for the processor."""

from __future__ import annotations

from atoll.ir import Kernel
from atoll.ir.parse import parse
from atoll.ir.verify import verify
from atoll_plugins.cpu.fission import GroupIf, GroupLeave, GroupLoop, Part, Segment, returns, split, spread


def kernel(body: str) -> Kernel:
    text = f"""kir 1

kernel k(n: i32, x: view<i32, 1>) group(8, 1, 1) {{
  local a: i32
  local b: i32
  local c: i32
{body}
}}
"""
    return verify(parse(text)).kernel("k")


def shape(parts: tuple[Part, ...]) -> list[object]:
    found: list[object] = []
    for part in parts:
        match part:
            case Segment():
                found.append(len(part.body))
            case GroupIf():
                found.append(("if", shape(part.then), shape(part.orelse)))
            case GroupLoop():
                found.append(("loop", shape(part.body), shape(part.step)))
            case GroupLeave():
                found.append("break" if part.leaves else "continue")
    return found


def test_statements_between_barriers_are_one_segment() -> None:
    found = kernel("  %a = $n\n  %b = %a\n  barrier work_group\n  x[i64:0] = %b\n  barrier work_group")
    parts = split(found.body)
    assert shape(parts) == [2, 1]
    assert spread(found, parts) == {"b"}


def test_a_branch_with_a_barrier_stays_outside_the_segments() -> None:
    parts = split(
        kernel("  if gt($n, i32:0) {\n    %a = $n\n    barrier work_group\n  } else {\n    %b = $n\n  }").body
    )
    assert shape(parts) == [("if", [1], [1])]


def test_a_branch_without_a_barrier_stays_in_its_segment() -> None:
    parts = split(kernel("  barrier work_group\n  if gt($n, i32:0) {\n    %a = $n\n  }\n  %b = $n").body)
    assert shape(parts) == [2]


def test_a_leave_of_a_group_loop_belongs_to_the_group_and_one_of_an_inner_loop_does_not() -> None:
    body = """  %a = i32:0
  loop lt(%a, $n) {
    %b = i32:0
    loop lt(%b, i32:3) {
      if eq(%b, i32:1) {
        break
      }
    } step {
      %b = add_wrap(%b, i32:1)
    }
    barrier work_group
    if eq(%a, i32:2) {
      continue
    }
    if eq(%a, i32:5) {
      %c = %b
      break
    }
  } step {
    %a = add_wrap(%a, i32:1)
  }"""
    found = kernel(body)
    parts = split(found.body)
    assert shape(parts) == [1, ("loop", [2, ("if", ["continue"], []), ("if", [1, "break"], [])], [1])]
    assert spread(found, parts) == {"a", "b", "c"}


def test_a_return_is_found_at_any_depth() -> None:
    assert returns(kernel("  barrier work_group\n  if gt($n, i32:0) {\n    return\n  }").body)
    assert not returns(kernel("  barrier work_group").body)
