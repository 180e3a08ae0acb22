/* Made by tools/headers.py: the standard set of intrinsics in SYCL 2020. */
#ifndef ATOLL_TARGET_H
#define ATOLL_TARGET_H
#include <cstdint>
#include <sycl/sycl.hpp>

static inline std::uint32_t atoll_shl_u32(std::uint32_t a, std::uint32_t b)
{
  return (std::uint32_t)b < 32u ? (std::uint32_t)((std::uint32_t)a << b) : (std::uint32_t)0;
}

static inline std::int32_t atoll_shr_i32(std::int32_t a, std::int32_t b)
{
  return (std::uint32_t)b < 32u ? (std::int32_t)(a >> b) : (std::int32_t)(a < 0 ? -1 : 0);
}

static inline std::uint32_t atoll_shr_u32(std::uint32_t a, std::uint32_t b)
{
  return (std::uint32_t)b < 32u ? (std::uint32_t)(a >> b) : (std::uint32_t)0;
}

/* Load what is read once: it need not stay in a cache. */
static inline float Target_ldcs(const float *ptr)
{
  float atoll_result;
  atoll_result = ptr[0ll];
  return atoll_result;
}

/* Load through the cache that all work-groups share. */
static inline float Target_ldcg(const float *ptr)
{
  float atoll_result;
  atoll_result = ptr[0ll];
  return atoll_result;
}

/* Store what nobody reads soon. */
static inline void Target_stcs(float *ptr, float value)
{
  ptr[0ll] = value;
}

/* Store through the cache that all work-groups share. */
static inline void Target_stcg(float *ptr, float value)
{
  ptr[0ll] = value;
}

/* Ask for an element that is loaded later; no effect is right too. */
static inline void Target_prefetch(const float *ptr)
{
  (void)ptr;
}

/* Return how many bits are set. */
static inline std::uint32_t Target_popcount(std::uint32_t x)
{
  std::uint32_t atoll_result;
  std::uint32_t l_popcount_snippet = 0;
  l_popcount_snippet = sycl::popcount((x));
  atoll_result = l_popcount_snippet;
  return atoll_result;
}

/* Return how many bits above the highest one are clear: 32 for 0. */
static inline std::uint32_t Target_clz(std::uint32_t x)
{
  std::uint32_t atoll_result;
  std::uint32_t l_clz_snippet = 0;
  l_clz_snippet = sycl::clz((x));
  atoll_result = l_clz_snippet;
  return atoll_result;
}

/* Return the bits in the opposite order. */
static inline std::uint32_t Target_brev(std::uint32_t x)
{
  std::uint32_t atoll_result;
  std::uint32_t l_brev_x = 0;
  std::uint32_t l_brev_x_2 = 0;
  std::uint32_t l_brev_x_3 = 0;
  std::uint32_t l_brev_x_4 = 0;
  l_brev_x = (atoll_shr_u32(x, 1u) & 1431655765u) | atoll_shl_u32((x & 1431655765u), 1u);
  l_brev_x_2 = (atoll_shr_u32(l_brev_x, 2u) & 858993459u) | atoll_shl_u32((l_brev_x & 858993459u), 2u);
  l_brev_x_3 = (atoll_shr_u32(l_brev_x_2, 4u) & 252645135u) | atoll_shl_u32((l_brev_x_2 & 252645135u), 4u);
  l_brev_x_4 = (atoll_shr_u32(l_brev_x_3, 8u) & 16711935u) | atoll_shl_u32((l_brev_x_3 & 16711935u), 8u);
  atoll_result = atoll_shr_u32(l_brev_x_4, 16u) | atoll_shl_u32(l_brev_x_4, 16u);
  return atoll_result;
}

/* Return `c` and the products of four pairs of signed bytes, packed lowest first. */
static inline std::int32_t Target_dot4(std::uint32_t a, std::uint32_t b, std::int32_t c)
{
  std::int32_t atoll_result;
  std::int32_t l_dot4_c = 0;
  std::int32_t l_byte_next = 0;
  std::uint32_t l_dot4_shift = 0;
  l_dot4_c = c;
  l_byte_next = 0;
  while (l_byte_next < 4) {
    l_dot4_shift = (std::uint32_t)((std::int32_t)((std::uint32_t)24 - (std::uint32_t)((std::int32_t)((std::uint32_t)8 * (std::uint32_t)l_byte_next))));
    l_dot4_c = (std::int32_t)((std::uint32_t)l_dot4_c + (std::uint32_t)((std::int32_t)((std::uint32_t)atoll_shr_i32(((std::int32_t)atoll_shl_u32(a, l_dot4_shift)), 24) * (std::uint32_t)atoll_shr_i32(((std::int32_t)atoll_shl_u32(b, l_dot4_shift)), 24))));
    l_byte_next = (std::int32_t)((std::uint32_t)l_byte_next + (std::uint32_t)1);
  }
  atoll_result = l_dot4_c;
  return atoll_result;
}

/* Return about one over the square root. */
static inline float Target_fast_rsqrt(float x)
{
  float atoll_result;
  float l_fast_rsqrt_snippet = 0;
  l_fast_rsqrt_snippet = sycl::native::rsqrt((x));
  atoll_result = l_fast_rsqrt_snippet;
  return atoll_result;
}

/* Return about two to the x. */
static inline float Target_fast_exp2(float x)
{
  float atoll_result;
  float l_fast_exp2_snippet = 0;
  l_fast_exp2_snippet = sycl::native::exp2((x));
  atoll_result = l_fast_exp2_snippet;
  return atoll_result;
}

/* Return about the sine of radians, best near zero. */
static inline float Target_fast_sin(float x)
{
  float atoll_result;
  float l_fast_sin_snippet = 0;
  l_fast_sin_snippet = sycl::native::sin((x));
  atoll_result = l_fast_sin_snippet;
  return atoll_result;
}

/* Return about the cosine of radians, best near zero. */
static inline float Target_fast_cos(float x)
{
  float atoll_result;
  float l_fast_cos_snippet = 0;
  l_fast_cos_snippet = sycl::native::cos((x));
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
  atoll_result = sycl::fma(a, b, c);
  return atoll_result;
}

/* no mma: its pointers are of the group's memory, which plain pointers are not */

/* no clock: SYCL 2020 has no clock in device code */

#ifdef __cplusplus
struct Target {
  static inline float ldcs(const float *ptr) { return Target_ldcs(ptr); }
  static inline float ldcg(const float *ptr) { return Target_ldcg(ptr); }
  static inline void stcs(float *ptr, float value) { Target_stcs(ptr, value); }
  static inline void stcg(float *ptr, float value) { Target_stcg(ptr, value); }
  static inline void prefetch(const float *ptr) { Target_prefetch(ptr); }
  static inline std::uint32_t popcount(std::uint32_t x) { return Target_popcount(x); }
  static inline std::uint32_t clz(std::uint32_t x) { return Target_clz(x); }
  static inline std::uint32_t brev(std::uint32_t x) { return Target_brev(x); }
  static inline std::int32_t dot4(std::uint32_t a, std::uint32_t b, std::int32_t c) { return Target_dot4(a, b, c); }
  static inline float fast_rsqrt(float x) { return Target_fast_rsqrt(x); }
  static inline float fast_exp2(float x) { return Target_fast_exp2(x); }
  static inline float fast_sin(float x) { return Target_fast_sin(x); }
  static inline float fast_cos(float x) { return Target_fast_cos(x); }
  static inline void assume(bool condition) { Target_assume(condition); }
  static inline float muladd(float a, float b, float c) { return Target_muladd(a, b, c); }
};
#endif
#endif
