/* Made by tools/headers.py: the standard set of intrinsics in HIP C++. */
#ifndef ATOLL_TARGET_H
#define ATOLL_TARGET_H
extern "C" __attribute__((device, const)) float __ocml_sin_f32(float);
extern "C" __attribute__((device, const)) float __ocml_cos_f32(float);
extern "C" __attribute__((device, const)) float __ocml_rsqrt_f32(float);
extern "C" __attribute__((device, const)) float __ocml_exp2_f32(float);

static __attribute__((device)) inline unsigned int atoll_shl_u32(unsigned int a, unsigned int b)
{
  return (unsigned int)b < 32u ? (unsigned int)((unsigned int)a << b) : (unsigned int)0;
}

static __attribute__((device)) inline int atoll_shr_i32(int a, int b)
{
  return (unsigned int)b < 32u ? (int)(a >> b) : (int)(a < 0 ? -1 : 0);
}

static __attribute__((device)) inline unsigned int atoll_shr_u32(unsigned int a, unsigned int b)
{
  return (unsigned int)b < 32u ? (unsigned int)(a >> b) : (unsigned int)0;
}

/* Load what is read once: it need not stay in a cache. */
static __attribute__((device)) inline float Target_ldcs(const float *ptr)
{
  float atoll_result;
  atoll_result = ptr[0ll];
  return atoll_result;
}

/* Load through the cache that all work-groups share. */
static __attribute__((device)) inline float Target_ldcg(const float *ptr)
{
  float atoll_result;
  atoll_result = ptr[0ll];
  return atoll_result;
}

/* Store what nobody reads soon. */
static __attribute__((device)) inline void Target_stcs(float *ptr, float value)
{
  ptr[0ll] = value;
}

/* Store through the cache that all work-groups share. */
static __attribute__((device)) inline void Target_stcg(float *ptr, float value)
{
  ptr[0ll] = value;
}

/* Ask for an element that is loaded later; no effect is right too. */
static __attribute__((device)) inline void Target_prefetch(const float *ptr)
{
  (void)ptr;
}

/* Return how many bits are set. */
static __attribute__((device)) inline unsigned int Target_popcount(unsigned int x)
{
  unsigned int atoll_result;
  unsigned int l_popcount_asm = 0;
  asm volatile("v_bcnt_u32_b32 %0, %1, 0" : "=v"(l_popcount_asm) : "v"(x));
  atoll_result = l_popcount_asm;
  return atoll_result;
}

/* Return how many bits above the highest one are clear: 32 for 0. */
static __attribute__((device)) inline unsigned int Target_clz(unsigned int x)
{
  unsigned int atoll_result;
  unsigned int l_clz_count = 0;
  unsigned int l_clz_x = 0;
  int l_step_next = 0;
  unsigned int l_clz_width = 0;
  if (x == 0u) {
    l_clz_count = 32u;
  } else {
    l_clz_count = 0u;
    l_clz_x = x;
    l_step_next = 0;
    while (l_step_next < 5) {
      l_clz_width = atoll_shr_u32(16u, ((unsigned int)l_step_next));
      if (atoll_shr_u32(l_clz_x, (32u - l_clz_width)) == 0u) {
        l_clz_count = l_clz_count + l_clz_width;
        l_clz_x = atoll_shl_u32(l_clz_x, l_clz_width);
      }
      l_step_next = (int)((unsigned int)l_step_next + (unsigned int)1);
    }
  }
  atoll_result = l_clz_count;
  return atoll_result;
}

/* Return the bits in the opposite order. */
static __attribute__((device)) inline unsigned int Target_brev(unsigned int x)
{
  unsigned int atoll_result;
  unsigned int l_brev_asm = 0;
  asm volatile("v_bfrev_b32 %0, %1" : "=v"(l_brev_asm) : "v"(x));
  atoll_result = l_brev_asm;
  return atoll_result;
}

/* Return `c` and the products of four pairs of signed bytes, packed lowest first. */
static __attribute__((device)) inline int Target_dot4(unsigned int a, unsigned int b, int c)
{
  int atoll_result;
  int l_dot4_c = 0;
  int l_byte_next = 0;
  unsigned int l_dot4_shift = 0;
  l_dot4_c = c;
  l_byte_next = 0;
  while (l_byte_next < 4) {
    l_dot4_shift = (unsigned int)((int)((unsigned int)24 - (unsigned int)((int)((unsigned int)8 * (unsigned int)l_byte_next))));
    l_dot4_c = (int)((unsigned int)l_dot4_c + (unsigned int)((int)((unsigned int)atoll_shr_i32(((int)atoll_shl_u32(a, l_dot4_shift)), 24) * (unsigned int)atoll_shr_i32(((int)atoll_shl_u32(b, l_dot4_shift)), 24))));
    l_byte_next = (int)((unsigned int)l_byte_next + (unsigned int)1);
  }
  atoll_result = l_dot4_c;
  return atoll_result;
}

/* Return about one over the square root. */
static __attribute__((device)) inline float Target_fast_rsqrt(float x)
{
  float atoll_result;
  float l_fast_rsqrt_asm = 0;
  asm volatile("v_rsq_f32 %0, %1" : "=v"(l_fast_rsqrt_asm) : "v"(x));
  atoll_result = l_fast_rsqrt_asm;
  return atoll_result;
}

/* Return about two to the x. */
static __attribute__((device)) inline float Target_fast_exp2(float x)
{
  float atoll_result;
  float l_fast_exp2_asm = 0;
  asm volatile("v_exp_f32 %0, %1" : "=v"(l_fast_exp2_asm) : "v"(x));
  atoll_result = l_fast_exp2_asm;
  return atoll_result;
}

/* Return about the sine of radians, best near zero. */
static __attribute__((device)) inline float Target_fast_sin(float x)
{
  float atoll_result;
  atoll_result = __ocml_sin_f32(x);
  return atoll_result;
}

/* Return about the cosine of radians, best near zero. */
static __attribute__((device)) inline float Target_fast_cos(float x)
{
  float atoll_result;
  atoll_result = __ocml_cos_f32(x);
  return atoll_result;
}

/* no copy_async: its first pointer is one of the group's memory, which a plain pointer is not */

/* no copy_wait: it waits for copy_async */

/* Promise that a condition holds; no effect is right too. */
static __attribute__((device)) inline void Target_assume(bool condition)
{
  (void)condition;
}

/* Return a * b + c, rounded once or twice, whichever the platform does faster. */
static __attribute__((device)) inline float Target_muladd(float a, float b, float c)
{
  float atoll_result;
  atoll_result = __builtin_fmaf(a, b, c);
  return atoll_result;
}

/* no mma: its pointers are of the group's memory, which plain pointers are not */

/* Return the ticks of a counter of the device: only differences mean something. */
static __attribute__((device)) inline unsigned long long Target_clock(void)
{
  unsigned long long atoll_result;
  unsigned long long l_clock_asm = 0;
  asm volatile("s_memtime %0\ns_waitcnt lgkmcnt(0)" : "=s"(l_clock_asm) : );
  atoll_result = l_clock_asm;
  return atoll_result;
}

#ifdef __cplusplus
struct Target {
  static __attribute__((device)) inline float ldcs(const float *ptr) { return Target_ldcs(ptr); }
  static __attribute__((device)) inline float ldcg(const float *ptr) { return Target_ldcg(ptr); }
  static __attribute__((device)) inline void stcs(float *ptr, float value) { Target_stcs(ptr, value); }
  static __attribute__((device)) inline void stcg(float *ptr, float value) { Target_stcg(ptr, value); }
  static __attribute__((device)) inline void prefetch(const float *ptr) { Target_prefetch(ptr); }
  static __attribute__((device)) inline unsigned int popcount(unsigned int x) { return Target_popcount(x); }
  static __attribute__((device)) inline unsigned int clz(unsigned int x) { return Target_clz(x); }
  static __attribute__((device)) inline unsigned int brev(unsigned int x) { return Target_brev(x); }
  static __attribute__((device)) inline int dot4(unsigned int a, unsigned int b, int c) { return Target_dot4(a, b, c); }
  static __attribute__((device)) inline float fast_rsqrt(float x) { return Target_fast_rsqrt(x); }
  static __attribute__((device)) inline float fast_exp2(float x) { return Target_fast_exp2(x); }
  static __attribute__((device)) inline float fast_sin(float x) { return Target_fast_sin(x); }
  static __attribute__((device)) inline float fast_cos(float x) { return Target_fast_cos(x); }
  static __attribute__((device)) inline void assume(bool condition) { Target_assume(condition); }
  static __attribute__((device)) inline float muladd(float a, float b, float c) { return Target_muladd(a, b, c); }
  static __attribute__((device)) inline unsigned long long clock() { return Target_clock(); }
};
#endif
#endif
