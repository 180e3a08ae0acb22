"""Which KIR programs must every emitter carry right? Each with a launch, arguments and what it is about.

:mod:`atoll.testing.evaluate` says what they compute; the tables of single operations are
:mod:`atoll.testing.tables`.
"""

from __future__ import annotations

from functools import cache

from atoll.ir import BF16, F16, Module
from atoll.ir.parse import parse
from atoll.ir.scalar import rounded
from atoll.ir.verify import verify
from atoll.testing.evaluate import ViewValue
from atoll.testing.program import Arguments, Program, floats, ints
from atoll.testing.tables import table_programs

__all__ = ["Program", "programs"]

_SAXPY = """kir 1

kernel saxpy(a: f32, x: view<f32, 1>, y: view<f32, 1>, out: view<f32, 1>) group(0, 0, 0) {
  local i: i32
  %i = global_id.0
  if lt(sext.i64(%i), size.0(out)) {
    out[sext.i64(%i)] = fadd(fmul($a, x[sext.i64(%i)]), y[sext.i64(%i)])
  }
}
"""
_BLOCK_SUM = """kir 1

kernel block_sum(x: view<f32, 1>, out: view<f32, 1>) group(64, 1, 1) {
  shared tile: f32[64]
  local l: i32
  local s: i32
  local i: i64
  %l = local_id.0
  %i = sext.i64(global_id.0)
  tile[%l] = f32:0.0
  if lt(%i, size.0(x)) {
    tile[%l] = x[%i]
  }
  barrier work_group
  %s = i32:32
  loop gt(%s, i32:0) {
    if lt(%l, %s) {
      tile[%l] = fadd(tile[%l], tile[add_wrap(%l, %s)])
    }
    barrier work_group
  } step {
    %s = shr(%s, i32:1)
  }
  if eq(%l, i32:0) {
    out[sext.i64(group_id.0)] = tile[i32:0]
  }
}
"""
_CONTROL = """kir 1

kernel control(x: view<i32, 1>, out: view<i32, 1>) group(0, 0, 0) {
  local i: i64
  local n: i32
  local j: i32
  local k: i32
  local sum: i32
  %i = sext.i64(global_id.0)
  %n = x[%i]
  if lt(%n, i32:0) {
    out[%i] = i32:-1
    return
  }
  %sum = i32:0
  %j = i32:0
  loop lt(%j, %n) {
    if eq(rem_floor(%j, i32:3), i32:1) {
      continue
    }
    if gt(%j, i32:11) {
      break
    }
    %k = %j
    loop bool:true {
      if gt(%k, i32:20) {
        break
      } else {
        if eq(%k, i32:7) {
          %sum = add_wrap(%sum, i32:1000)
          %k = add_wrap(%k, i32:2)
          continue
        }
      }
      %sum = add_wrap(%sum, %k)
    } step {
      %k = add_wrap(%k, i32:5)
    }
    if gt(%sum, i32:5000) {
      out[%i] = neg_wrap(%sum)
      return
    }
  } step {
    %j = add_wrap(%j, i32:1)
  }
  out[%i] = %sum
}
"""
_GUARD = """kir 1

kernel guard(x: view<i32, 1>, out: view<i32, 1>) group(0, 0, 0) {
  local i: i64
  local found: i32
  %i = sext.i64(sub_wrap(global_id.0, i32:4))
  %found = i32:0
  if land(land(ge(%i, i64:0), lt(%i, size.0(x))), gt(x[%i], i32:3)) {
    %found = x[%i]
  }
  if lor(lor(lt(%i, i64:0), ge(%i, size.0(x))), lt(x[%i], i32:3)) {
    %found = sub_wrap(%found, i32:1)
  }
  out[sext.i64(global_id.0)] = %found
}
"""
_STRIDED = """kir 1

kernel strided(x: view<f32, 2>, out: view<f32, 2>) group(0, 0, 0) {
  local i: i64
  local j: i64
  %i = sext.i64(global_id.1)
  %j = sext.i64(global_id.0)
  out[%j, %i] = fadd(x[%i, %j], sitof.f32(add_wrap(size.0(x), mul_wrap(stride.1(x), offset.0(x)))))
}
"""
_ROTATE = """kir 1

kernel rotate(rounds: i32, x: view<i32, 1>, out: view<i32, 1>) group(8, 4, 1) {
  shared ring: i32[32]
  local me: i32
  local mine: i32
  local kept: i32
  local round: i32
  %me = add_wrap(local_id.0, mul_wrap(local_id.1, group_size.0))
  %mine = x[sext.i64(%me)]
  %kept = i32:0
  %round = i32:0
  loop lt(%round, $rounds) {
    if eq(%round, i32:9) {
      break
    }
    ring[%me] = %mine
    barrier work_group
    if eq(rem_floor(%round, i32:2), i32:1) {
      barrier work_group
      %kept = add_wrap(%kept, ring[rem_floor(sub_wrap(%me, i32:1), i32:32)])
    } else {
      %kept = sub_wrap(%kept, %mine)
      if eq(%round, i32:4) {
        barrier work_group
        continue
      }
    }
    %mine = ring[rem_floor(sub_wrap(%me, %round), i32:32)]
    barrier work_group
  } step {
    %round = add_wrap(%round, i32:1)
  }
  if gt(%me, i32:20) {
    return
  }
  out[sext.i64(%me)] = add_wrap(mul_wrap(%kept, i32:100), %mine)
}
"""
_EARLY = """kir 1

kernel early(stop: i32, x: view<i32, 1>, out: view<i32, 1>) group(16, 1, 1) {
  shared tile: i32[16]
  local l: i32
  %l = local_id.0
  tile[%l] = x[sext.i64(global_id.0)]
  barrier work_group
  if eq(group_id.0, $stop) {
    return
  }
  if eq(rem_floor(add_wrap(group_id.0, i32:1), num_groups.0), i32:0) {
    tile[%l] = mul_wrap(tile[%l], i32:2)
    barrier work_group
  }
  out[sext.i64(global_id.0)] = tile[sub_wrap(i32:15, %l)]
}
"""
_NARROW = """kir 1

kernel narrow(b: i8, h: u16, x: view<i8, 1>, y: view<u16, 1>, p: view<u8, 1>, q: view<i16, 1>)
    group(0, 0, 0) {
  shared unused: u8[4]
  local i: i64
  local c: i8
  local w: u16
  %i = sext.i64(global_id.0)
  %c = add_wrap(mul_wrap(x[%i], $b), i8:77)
  %w = sub_wrap(mul_wrap(y[%i], $h), u16:9)
  x[%i] = div_floor(%c, x[%i])
  y[%i] = shr(not(%w), u16:3)
  p[%i] = trunc.u8(shl(%w, u16:3))
  q[%i] = sext.i16(neg_wrap(abs_wrap(%c)))
}
"""
_SCALARS = """kir 1

kernel scalars(t: bool, a: i8, b: u8, c: i16, d: u16, e: u32, f: i64, g: u64, h: f64, k: f32,
               one: view<i64, 1>, two: view<f64, 1>) group(0, 0, 0) {
  local i: i64
  %i = sext.i64(global_id.0)
  one[%i] = select($t, add_wrap(sext.i64($a), sext.i64($c)), i64:-1)
  two[%i] = fadd($h, fext.f64($k))
  if eq(%i, i64:1) {
    one[%i] = add_wrap(add_wrap(zext.i64($b), zext.i64($d)), add_wrap(zext.i64($e), $f))
    two[%i] = uitof.f64($g)
  }
}
"""
_HALF = """kir 1

kernel half(a: f16, b: bf16, x: view<f16, 1>, y: view<bf16, 1>, p: view<f16, 1>, q: view<bf16, 1>)
    group(32, 1, 1) {
  shared tile: f16[32]
  local i: i64
  local sum: bf16
  local n: i32
  %i = sext.i64(global_id.0)
  tile[local_id.0] = fmul($a, x[%i])
  barrier work_group
  %sum = $b
  %n = i32:0
  loop lt(%n, local_id.0) {
    %sum = fadd(%sum, y[sext.i64(%n)])
  } step {
    %n = add_wrap(%n, i32:1)
  }
  q[%i] = select(lt(%sum, bf16:100.0), %sum, fneg(%sum))
  p[%i] = fadd(tile[xor(local_id.0, i32:1)], fmin(ftrunc.f16(%sum), f16:2.0))
}
"""
_PRIVATE = """kir 1

kernel private(x: view<i32, 1>, y: view<i16, 1>) group(8, 1, 1) {
  shared tile: i32[8]
  array kept: i32[4]
  array small: i16[3]
  array brief: f32[2]
  local n: i32
  %n = i32:0
  loop lt(%n, i32:4) {
    kept[%n] = mul_wrap(x[sext.i64(global_id.0)], %n)
    small[rem_floor(%n, i32:3)] = trunc.i16(kept[%n])
  } step {
    %n = add_wrap(%n, i32:1)
  }
  tile[local_id.0] = kept[rem_floor(local_id.0, i32:4)]
  barrier work_group
  %n = i32:0
  loop lt(%n, i32:2) {
    kept[add_wrap(%n, i32:1)] = add_wrap(kept[%n], tile[xor(local_id.0, i32:1)])
    barrier work_group
    tile[local_id.0] = kept[i32:2]
    barrier work_group
  } step {
    %n = add_wrap(%n, i32:1)
  }
  brief[and(%n, i32:1)] = sitof.f32(kept[i32:3])
  x[sext.i64(global_id.0)] = add_wrap(kept[i32:2], ftosi.i32(brief[i32:0]))
  y[sext.i64(global_id.0)] = add_wrap(small[i32:0], small[i32:2])
}
"""
_ARRAYS = """kir 1

kernel arrays(x: view<u8, 1>, o: view<f32, 1>) group(0, 0, 0) {
  array seen: u8[5]
  array sums: f32[3]
  local i: i64
  local n: i32
  %i = sext.i64(global_id.0)
  %n = i32:0
  loop lt(%n, i32:5) {
    seen[%n] = add_wrap(x[%i], trunc.u8(%n))
  } step {
    %n = add_wrap(%n, i32:1)
  }
  sums[i32:2] = uitof.f32(seen[i32:4])
  sums[rem_floor(zext.i32(seen[i32:1]), i32:2)] = f32:0.5
  if lt(seen[i32:0], u8:100) {
    o[%i] = fadd(sums[i32:2], sums[rem_floor(zext.i32(seen[i32:1]), i32:2)])
  } else {
    return
  }
}
"""
_ATOMICS = """kir 1

kernel atomics(x: view<i32, 1>, c: view<i32, 1>, u: view<u32, 1>, s: view<f32, 1>) group(0, 0, 0) {
  local i: i64
  local old: i32
  %i = sext.i64(global_id.0)
  atomic add relaxed device c[i64:0], x[%i] -> %old
  atomic min relaxed device c[i64:1], x[%i]
  atomic max acq_rel device c[i64:2], x[%i]
  atomic or release device u[i64:0], shl(u32:1, trunc.u32(sext.i64(and(x[%i], i32:31))))
  atomic xor acquire device u[i64:1], sign.u32(x[%i])
  atomic and relaxed device u[i64:2], not(shl(u32:1, sign.u32(and(x[%i], i32:31))))
  atomic max relaxed device u[i64:3], sign.u32(x[%i])
  atomic exchange relaxed device c[add_wrap(%i, i64:4)], x[%i] -> %old
  atomic compare_exchange relaxed device c[add_wrap(%i, i64:4)], x[%i], add_wrap(%old, i32:1) -> %old
  atomic add relaxed device s[i64:0], sitof.f32(x[%i])
}
"""
_SHARED_ATOMICS = """kir 1

kernel shared_atomics(x: view<i32, 1>, out: view<i32, 1>) group(32, 1, 1) {
  shared bins: i32[8]
  local l: i32
  %l = local_id.0
  if lt(%l, i32:8) {
    bins[%l] = i32:0
  }
  barrier work_group
  atomic add relaxed work_group bins[and(x[sext.i64(global_id.0)], i32:7)], i32:1
  barrier work_group
  if lt(%l, i32:8) {
    atomic add relaxed device out[sext.i64(%l)], bins[%l]
  }
}
"""
_BATCHED = """kir 1

kernel batched(x: view<i32, 3>) group(0, 0, 0) {
  x[sext.i64(global_id.2), sext.i64(global_id.1), sext.i64(global_id.0)] = \
add_wrap(mul_wrap(group_id.1, i32:1000), add_wrap(mul_wrap(local_id.2, i32:100), \
add_wrap(num_groups.0, mul_wrap(group_size.1, i32:10))))
}
"""

#: Every operation of a sub-group, in terms that hold for every size of one; the last row is a fence.
_SUBGROUPS = """kir 1

kernel subgroups(x: view<i32, 1>, out: view<i64, 1>) group(64, 1, 1) {
  local i: i32
  local v: i32
  local size: i32
  local lane: i32
  local good: i32
  local add: i32
  local inclusive_add: i32
  local exclusive_add: f32
  local min: i32
  local max: i32
  local broadcast: i32
  local any: bool
  local all: bool
  local or: u32
  local and: u32
  local xor: u32
  local max_2: f64
  local add_2: i64
  local t: i64
  local t_2: i32
  local shuffle: i64
  local t_3: i32
  local shuffle_2: i32
  local other: i32
  local inclusive_add_2: i64
  local exclusive_add_2: i64
  local total: i64
  %i = global_id.0
  %v = x[sext.i64(%i)]
  %size = subgroup_size.0
  %lane = lane_id.0
  %good = i32:0
  subgroup add i32:1 -> %add
  if eq(%add, %size) {
    %good = add_wrap(%good, i32:1)
  }
  subgroup inclusive_add i32:1 -> %inclusive_add
  if eq(%inclusive_add, add_wrap(%lane, i32:1)) {
    %good = add_wrap(%good, i32:2)
  }
  subgroup exclusive_add f32:1.0 -> %exclusive_add
  if eq(%exclusive_add, sitof.f32(%lane)) {
    %good = add_wrap(%good, i32:4)
  }
  subgroup min %lane -> %min
  subgroup max %lane -> %max
  if and(eq(%min, i32:0), eq(%max, sub_wrap(%size, i32:1))) {
    %good = add_wrap(%good, i32:8)
  }
  subgroup broadcast mul_wrap(subgroup_id.0, i32:1000), sub_wrap(%size, i32:1) -> %broadcast
  if eq(%broadcast, mul_wrap(subgroup_id.0, i32:1000)) {
    %good = add_wrap(%good, i32:16)
  }
  subgroup any eq(%lane, sub_wrap(%size, i32:1)) -> %any
  subgroup all gt(%lane, i32:0) -> %all
  if ne(%any, %all) {
    %good = add_wrap(%good, i32:32)
  }
  subgroup or sign.u32(%lane) -> %or
  subgroup and sign.u32(%lane) -> %and
  if eq(add_wrap(%or, %and), sign.u32(sub_wrap(%size, i32:1))) {
    %good = add_wrap(%good, i32:64)
  }
  subgroup xor u32:1 -> %xor
  if eq(%xor, sign.u32(rem_floor(%size, i32:2))) {
    %good = add_wrap(%good, i32:128)
  }
  subgroup max sitof.f64(%lane) -> %max_2
  subgroup add shl(i64:1, i64:40) -> %add_2
  if and(eq(%max_2, sitof.f64(sub_wrap(%size, i32:1))), eq(%add_2, shl(sext.i64(%size), i64:40))) {
    %good = add_wrap(%good, i32:256)
  }
  %t = shl(sext.i64(%lane), i64:33)
  %t_2 = sub_wrap(sub_wrap(%size, i32:1), %lane)
  subgroup shuffle %t, select(and(ge(%t_2, i32:0), lt(%t_2, subgroup_size.0)), %t_2, lane_id.0) -> %shuffle
  if eq(%shuffle, shl(sext.i64(sub_wrap(sub_wrap(%size, i32:1), %lane)), i64:33)) {
    %good = add_wrap(%good, i32:512)
  }
  %t_3 = sub_wrap(lane_id.0, %size)
  subgroup shuffle %v, select(and(ge(%t_3, i32:0), lt(%t_3, subgroup_size.0)), %t_3, lane_id.0) -> %shuffle_2
  %other = %shuffle_2
  subgroup inclusive_add sext.i64(%v) -> %inclusive_add_2
  subgroup exclusive_add sext.i64(%v) -> %exclusive_add_2
  %total = sub_wrap(%inclusive_add_2, %exclusive_add_2)
  fence work_group
  out[sext.i64(%i)] = add_wrap(add_wrap(mul_wrap(sext.i64(%good), i64:1000000), sext.i64(%other)), %total)
}
"""
_WHOLES = "kir 1\n\nkernel wholes(f: view<f32, 1>) group(0, 0, 0) {\n" + "".join(
    f"  f[i64:{at}] = {call}\n" for at, call in enumerate(
        f"{op}(f32:{value})"
        for op in ("rint", "floor", "ceil", "truncate")
        for value in ("1.0000000150474662e+30", "-3000000000.0", "0x7f800000", "0x7fc00000", "-2.5", "-0.0")
    )
) + "}\n"  # fmt: skip


@cache
def _module(text: str) -> Module:
    return verify(parse(text))


def _strided_arguments() -> Arguments:
    return {
        "x": ViewValue([float(value) for value in range(60)], (5, 6), (-8, 1), offset=40),
        "out": ViewValue([0.0] * 64, (6, 5), (2, 12), offset=1),
    }


def _noise(count: int, seed: int) -> list[int]:
    """Return repeatable integers of 32 bits: a linear congruential generator (Numerical Recipes)."""
    found = []
    for _ in range(count):
        seed = (seed * 1664525 + 1013904223) % (1 << 32)
        found.append(seed - (1 << 31))
    return found


def _plain() -> list[Program]:
    """Return the programs about views, strides, ids and the domain."""
    return [
        Program(
            name="saxpy", about="views, scalars, the domain", module=_module(_SAXPY), groups=(2, 1, 1),
            domain=(100, 1, 1),
            arguments=lambda: {
                "a": 2.5, "x": floats(*map(float, range(97))), "y": floats(*(0.125 * i for i in range(97))),
                "out": ViewValue([7.0] * 128, (97,), (1,)),
            },
        ),
        Program(
            name="guard", about="a short circuit guards a load", module=_module(_GUARD), group=(24, 1, 1),
            arguments=lambda: {"x": ints(*[5, 1, 3, 9, 0, 4, 2, 8]), "out": ints(*[9] * 24)},
        ),
        Program(
            name="strided", about="strides of both signs, offsets, two dimensions", module=_module(_STRIDED),
            group=(8, 8, 1), domain=(6, 5, 1), arguments=_strided_arguments,
        ),
        Program(
            name="batched", about="ids in three dimensions", module=_module(_BATCHED), groups=(2, 3, 2),
            group=(4, 2, 3), domain=(7, 5, 6),
            arguments=lambda: {"x": ViewValue([0] * 210, (6, 5, 7), (35, 7, 1))},
        ),
    ]  # fmt: skip


def _flow() -> list[Program]:
    """Return the programs about control flow and barriers."""
    return [
        Program(
            name="block_sum", about="shared memory, a barrier in a loop", module=_module(_BLOCK_SUM),
            groups=(3, 1, 1),
            arguments=lambda: {"x": floats(*map(float, range(150))), "out": floats(0.0, 0.0, 0.0)},
        ),
        Program(
            name="control", about="nested loops, break, continue, early return", module=_module(_CONTROL),
            groups=(2, 1, 1), group=(32, 1, 1), domain=(48, 1, 1),
            arguments=lambda: {"x": ints(*range(-8, 40)), "out": ints(*[9] * 48)},
        ),
        Program(
            name="rotate", about="locals across barriers, break, continue", module=_module(_ROTATE),
            group=(8, 4, 1),
            arguments=lambda: {"rounds": 12, "x": ints(*range(3, 35)), "out": ints(*[9] * 32)},
        ),
        Program(
            name="early", about="a whole group returns before a barrier", module=_module(_EARLY),
            groups=(5, 1, 1), group=(16, 1, 1),
            arguments=lambda: {"stop": 2, "x": ints(*range(80)), "out": ints(*[9] * 80)},
        ),
    ]  # fmt: skip


def _types() -> list[Program]:
    """Return the programs about narrow integers and floats, and every scalar of the parameter block."""
    noise = _noise(128, 7)
    return [
        Program(
            name="wholes", about="constants that no integer holds, made whole", module=_module(_WHOLES),
            group=(1, 1, 1), arguments=lambda: {"f": floats(*[7.0] * 24)},
        ),
        Program(
            name="narrow", about="integers of 8 and 16 bits", module=_module(_NARROW), group=(64, 1, 1),
            arguments=lambda: {
                "b": -7, "h": 40503, "x": ints(*[(value >> 9) % 256 - 128 for value in noise[:64]]),
                "y": ints(*[value % 65536 for value in noise[64:]]), "p": ints(*[9] * 64),
                "q": ints(*[9] * 64),
            },
        ),
        Program(
            name="half", about="floats of 16 bits: arguments, memory, sums that round", module=_module(_HALF),
            group=(32, 1, 1),
            arguments=lambda: {
                "a": 0.333251953125, "b": -1.5,
                "x": floats(*[float(rounded(F16, (n * 37 % 101 - 50) / 7)) for n in range(32)]),
                "y": floats(*[float(rounded(BF16, n * 1.7)) for n in range(32)]),
                "p": floats(*[0.0] * 32), "q": floats(*[0.0] * 32),
            },
        ),
        Program(
            name="scalars", about="every scalar in the parameter block", module=_module(_SCALARS),
            group=(2, 1, 1),
            arguments=lambda: {
                "t": True, "a": -5, "b": 200, "c": -300, "d": 60000, "e": 4000000000, "f": -(1 << 40),
                "g": (1 << 63) + 4096, "h": 1.0e-9, "k": 0.25, "one": ints(9, 9), "two": floats(9.0, 9.0),
            },
        ),
    ]  # fmt: skip


def _own() -> list[Program]:
    """Return the programs about arrays of a work-item, and sub-groups."""
    noise = _noise(128, 7)
    return [
        Program(
            name="private", about="arrays of a work-item, across barriers", module=_module(_PRIVATE),
            groups=(2, 1, 1), group=(8, 1, 1),
            arguments=lambda: {
                "x": ints(*[n * 7919 - 60000 for n in range(16)]),
                "y": ints(*[0] * 16),
            },
        ),
        Program(
            name="arrays", about="arrays of a work-item, narrow ones too", module=_module(_ARRAYS),
            groups=(2, 1, 1), group=(8, 1, 1), domain=(13, 1, 1),
            arguments=lambda: {
                "x": ints(*[n * 23 % 256 for n in range(13)]),
                "o": floats(*[-1.0] * 13),
            },
        ),
        Program(
            name="subgroups", about="what a sub-group does together, and a fence", module=_module(_SUBGROUPS),
            groups=(2, 1, 1), group=(64, 1, 1),
            arguments=lambda: {"x": ints(*noise), "out": ints(*[0] * 128)},
        ),
    ]  # fmt: skip


def _counted() -> list[Program]:
    """Return the programs about atomics."""
    noise = _noise(128, 7)
    return [
        Program(
            name="atomics", about="every atomic on global memory", module=_module(_ATOMICS), groups=(2, 1, 1),
            group=(32, 1, 1),
            arguments=lambda: {
                "x": ints(*[value >> 20 for value in noise[:64]]), "c": ints(*[0] * 4, *[5] * 64),
                "u": ints(0, 0, (1 << 32) - 1, 0), "s": floats(0.5),
            },
        ),
        Program(
            name="shared_atomics", about="atomics on shared memory", module=_module(_SHARED_ATOMICS),
            groups=(2, 1, 1), group=(32, 1, 1),
            arguments=lambda: {"x": ints(*noise[:64]), "out": ints(*[0] * 8)},
        ),
    ]  # fmt: skip


@cache
def programs() -> tuple[Program, ...]:
    """Return every program."""
    return (*_plain(), *_flow(), *_types(), *_own(), *_counted(), *table_programs())
