/* Made by tools/headers.py: the standard set of intrinsics in OpenCL C 1.2. */
#ifndef ATOLL_TARGET_H
#define ATOLL_TARGET_H

static inline uint atoll_shl_u32(uint a, uint b)
{
  return (uint)b < 32u ? (uint)((uint)a << b) : (uint)0;
}

static inline int atoll_shr_i32(int a, int b)
{
  return (uint)b < 32u ? (int)(a >> b) : (int)(a < 0 ? -1 : 0);
}

static inline uint atoll_shr_u32(uint a, uint b)
{
  return (uint)b < 32u ? (uint)(a >> b) : (uint)0;
}

/* Load what is read once: it need not stay in a cache. */
static inline float Target_ldcs(__global const float *ptr)
{
  float atoll_result;
  atoll_result = ptr[0l];
  return atoll_result;
}

/* Load through the cache that all work-groups share. */
static inline float Target_ldcg(__global const float *ptr)
{
  float atoll_result;
  atoll_result = ptr[0l];
  return atoll_result;
}

/* Store what nobody reads soon. */
static inline void Target_stcs(__global float *ptr, float value)
{
  ptr[0l] = value;
}

/* Store through the cache that all work-groups share. */
static inline void Target_stcg(__global float *ptr, float value)
{
  ptr[0l] = value;
}

/* Ask for an element that is loaded later; no effect is right too. */
static inline void Target_prefetch(__global const float *ptr)
{
  (void)ptr;
}

/* Return how many bits are set. */
static inline uint Target_popcount(uint x)
{
  uint atoll_result;
  uint l_popcount_snippet = 0;
  l_popcount_snippet = popcount((uint)(x));
  atoll_result = l_popcount_snippet;
  return atoll_result;
}

/* Return how many bits above the highest one are clear: 32 for 0. */
static inline uint Target_clz(uint x)
{
  uint atoll_result;
  uint l_clz_snippet = 0;
  l_clz_snippet = clz((uint)(x));
  atoll_result = l_clz_snippet;
  return atoll_result;
}

/* Return the bits in the opposite order. */
static inline uint Target_brev(uint x)
{
  uint atoll_result;
  uint l_brev_x = 0;
  uint l_brev_x_2 = 0;
  uint l_brev_x_3 = 0;
  uint l_brev_x_4 = 0;
  l_brev_x = (atoll_shr_u32(x, 1u) & 1431655765u) | atoll_shl_u32((x & 1431655765u), 1u);
  l_brev_x_2 = (atoll_shr_u32(l_brev_x, 2u) & 858993459u) | atoll_shl_u32((l_brev_x & 858993459u), 2u);
  l_brev_x_3 = (atoll_shr_u32(l_brev_x_2, 4u) & 252645135u) | atoll_shl_u32((l_brev_x_2 & 252645135u), 4u);
  l_brev_x_4 = (atoll_shr_u32(l_brev_x_3, 8u) & 16711935u) | atoll_shl_u32((l_brev_x_3 & 16711935u), 8u);
  atoll_result = atoll_shr_u32(l_brev_x_4, 16u) | atoll_shl_u32(l_brev_x_4, 16u);
  return atoll_result;
}

/* Return `c` and the products of four pairs of signed bytes, packed lowest first. */
static inline int Target_dot4(uint a, uint b, int c)
{
  int atoll_result;
  int l_dot4_c = 0;
  int l_byte_next = 0;
  uint l_dot4_shift = 0;
  l_dot4_c = c;
  l_byte_next = 0;
  while (l_byte_next < 4) {
    l_dot4_shift = (uint)((int)((uint)24 - (uint)((int)((uint)8 * (uint)l_byte_next))));
    l_dot4_c = (int)((uint)l_dot4_c + (uint)((int)((uint)atoll_shr_i32(((int)atoll_shl_u32(a, l_dot4_shift)), 24) * (uint)atoll_shr_i32(((int)atoll_shl_u32(b, l_dot4_shift)), 24))));
    l_byte_next = (int)((uint)l_byte_next + (uint)1);
  }
  atoll_result = l_dot4_c;
  return atoll_result;
}

/* Return about one over the square root. */
static inline float Target_fast_rsqrt(float x)
{
  float atoll_result;
  float l_fast_rsqrt_snippet = 0;
  l_fast_rsqrt_snippet = native_rsqrt((x));
  atoll_result = l_fast_rsqrt_snippet;
  return atoll_result;
}

/* Return about two to the x. */
static inline float Target_fast_exp2(float x)
{
  float atoll_result;
  float l_fast_exp2_snippet = 0;
  l_fast_exp2_snippet = native_exp2((x));
  atoll_result = l_fast_exp2_snippet;
  return atoll_result;
}

/* Return about the sine of radians, best near zero. */
static inline float Target_fast_sin(float x)
{
  float atoll_result;
  float l_fast_sin_snippet = 0;
  l_fast_sin_snippet = native_sin((x));
  atoll_result = l_fast_sin_snippet;
  return atoll_result;
}

/* Return about the cosine of radians, best near zero. */
static inline float Target_fast_cos(float x)
{
  float atoll_result;
  float l_fast_cos_snippet = 0;
  l_fast_cos_snippet = native_cos((x));
  atoll_result = l_fast_cos_snippet;
  return atoll_result;
}

/* no copy_async: its first pointer is one of the group's memory, which a plain pointer is not */

/* no copy_wait: it waits for copy_async */

/* Promise that a condition holds; no effect is right too. */
static inline void Target_assume(bool condition)
{
  (void)condition;
}

/* Return a * b + c, rounded once or twice, whichever the platform does faster. */
static inline float Target_muladd(float a, float b, float c)
{
  float atoll_result;
  atoll_result = fma(a, b, c);
  return atoll_result;
}

/* no mma: its pointers are of the group's memory, which plain pointers are not */

/* no clock: OpenCL C 1.2 has no clock; cl_khr_kernel_clock is an extension that few devices have */

#ifdef __cplusplus
struct Target {
  static inline float ldcs(__global const float *ptr) { return Target_ldcs(ptr); }
  static inline float ldcg(__global const float *ptr) { return Target_ldcg(ptr); }
  static inline void stcs(__global float *ptr, float value) { Target_stcs(ptr, value); }
  static inline void stcg(__global float *ptr, float value) { Target_stcg(ptr, value); }
  static inline void prefetch(__global const float *ptr) { Target_prefetch(ptr); }
  static inline uint popcount(uint x) { return Target_popcount(x); }
  static inline uint clz(uint x) { return Target_clz(x); }
  static inline uint brev(uint x) { return Target_brev(x); }
  static inline int dot4(uint a, uint b, int c) { return Target_dot4(a, b, c); }
  static inline float fast_rsqrt(float x) { return Target_fast_rsqrt(x); }
  static inline float fast_exp2(float x) { return Target_fast_exp2(x); }
  static inline float fast_sin(float x) { return Target_fast_sin(x); }
  static inline float fast_cos(float x) { return Target_fast_cos(x); }
  static inline void assume(bool condition) { Target_assume(condition); }
  static inline float muladd(float a, float b, float c) { return Target_muladd(a, b, c); }
};
#endif
#endif
