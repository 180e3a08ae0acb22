/* Made by tools/headers.py: the standard set of intrinsics in CUDA C++. */
#ifndef ATOLL_TARGET_H
#define ATOLL_TARGET_H

static __device__ inline unsigned int atoll_shl_u32(unsigned int a, unsigned int b)
{
  return (unsigned int)b < 32u ? (unsigned int)((unsigned int)a << b) : (unsigned int)0;
}

static __device__ inline int atoll_shr_i32(int a, int b)
{
  return (unsigned int)b < 32u ? (int)(a >> b) : (int)(a < 0 ? -1 : 0);
}

/* Load what is read once: it need not stay in a cache. */
static __device__ inline float Target_ldcs(const float *ptr)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 350
  float atoll_result;
  float l_ldcs_asm = 0;
  asm volatile("ld.global.cs.f32 %0, [%1];" : "=f"(l_ldcs_asm) : "l"((ptr + 0ll)));
  atoll_result = l_ldcs_asm;
  return atoll_result;
#else
  float atoll_result;
  atoll_result = ptr[0ll];
  return atoll_result;
#endif
}

/* Load through the cache that all work-groups share. */
static __device__ inline float Target_ldcg(const float *ptr)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 350
  float atoll_result;
  float l_ldcg_asm = 0;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(l_ldcg_asm) : "l"((ptr + 0ll)));
  atoll_result = l_ldcg_asm;
  return atoll_result;
#else
  float atoll_result;
  atoll_result = ptr[0ll];
  return atoll_result;
#endif
}

/* Store what nobody reads soon. */
static __device__ inline void Target_stcs(float *ptr, float value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 350
  asm volatile("st.global.cs.f32 [%0], %1;" :  : "l"((ptr + 0ll)), "f"(value) : "memory");
#else
  ptr[0ll] = value;
#endif
}

/* Store through the cache that all work-groups share. */
static __device__ inline void Target_stcg(float *ptr, float value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 350
  asm volatile("st.global.cg.f32 [%0], %1;" :  : "l"((ptr + 0ll)), "f"(value) : "memory");
#else
  ptr[0ll] = value;
#endif
}

/* Ask for an element that is loaded later; no effect is right too. */
static __device__ inline void Target_prefetch(const float *ptr)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 350
  asm volatile("prefetch.global.L2 [%0];" :  : "l"((ptr + 0ll)) : "memory");
#else
  (void)ptr;
#endif
}

/* Return how many bits are set. */
static __device__ inline unsigned int Target_popcount(unsigned int x)
{
  unsigned int atoll_result;
  unsigned int l_popcount_asm = 0;
  asm volatile("popc.b32 %0, %1;" : "=r"(l_popcount_asm) : "r"(x));
  atoll_result = l_popcount_asm;
  return atoll_result;
}

/* Return how many bits above the highest one are clear: 32 for 0. */
static __device__ inline unsigned int Target_clz(unsigned int x)
{
  unsigned int atoll_result;
  unsigned int l_clz_asm = 0;
  asm volatile("clz.b32 %0, %1;" : "=r"(l_clz_asm) : "r"(x));
  atoll_result = l_clz_asm;
  return atoll_result;
}

/* Return the bits in the opposite order. */
static __device__ inline unsigned int Target_brev(unsigned int x)
{
  unsigned int atoll_result;
  unsigned int l_brev_asm = 0;
  asm volatile("brev.b32 %0, %1;" : "=r"(l_brev_asm) : "r"(x));
  atoll_result = l_brev_asm;
  return atoll_result;
}

/* Return `c` and the products of four pairs of signed bytes, packed lowest first. */
static __device__ inline int Target_dot4(unsigned int a, unsigned int b, int c)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 610
  int atoll_result;
  int l_dot4_asm = 0;
  asm volatile("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(l_dot4_asm) : "r"(a), "r"(b), "r"(c));
  atoll_result = l_dot4_asm;
  return atoll_result;
#else
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
#endif
}

/* Return about one over the square root. */
static __device__ inline float Target_fast_rsqrt(float x)
{
  float atoll_result;
  float l_fast_rsqrt_asm = 0;
  asm volatile("rsqrt.approx.f32 %0, %1;" : "=f"(l_fast_rsqrt_asm) : "f"(x));
  atoll_result = l_fast_rsqrt_asm;
  return atoll_result;
}

/* Return about two to the x. */
static __device__ inline float Target_fast_exp2(float x)
{
  float atoll_result;
  float l_fast_exp2_asm = 0;
  asm volatile("ex2.approx.f32 %0, %1;" : "=f"(l_fast_exp2_asm) : "f"(x));
  atoll_result = l_fast_exp2_asm;
  return atoll_result;
}

/* Return about the sine of radians, best near zero. */
static __device__ inline float Target_fast_sin(float x)
{
  float atoll_result;
  float l_fast_sin_asm = 0;
  asm volatile("sin.approx.f32 %0, %1;" : "=f"(l_fast_sin_asm) : "f"(x));
  atoll_result = l_fast_sin_asm;
  return atoll_result;
}

/* Return about the cosine of radians, best near zero. */
static __device__ inline float Target_fast_cos(float x)
{
  float atoll_result;
  float l_fast_cos_asm = 0;
  asm volatile("cos.approx.f32 %0, %1;" : "=f"(l_fast_cos_asm) : "f"(x));
  atoll_result = l_fast_cos_asm;
  return atoll_result;
}

/* no copy_async: its first pointer is one of the group's memory, which a plain pointer is not */

/* no copy_wait: it waits for copy_async */

/* Promise that a condition holds; no effect is right too. */
static __device__ inline void Target_assume(bool condition)
{
  (void)condition;
}

/* Return a * b + c, rounded once or twice, whichever the platform does faster. */
static __device__ inline float Target_muladd(float a, float b, float c)
{
  float atoll_result;
  atoll_result = fmaf(a, b, c);
  return atoll_result;
}

/* no mma: its pointers are of the group's memory, which plain pointers are not */

/* Return the ticks of a counter of the device: only differences mean something. */
static __device__ inline unsigned long long Target_clock(void)
{
  unsigned long long atoll_result;
  unsigned long long l_clock_asm = 0;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(l_clock_asm) : );
  atoll_result = l_clock_asm;
  return atoll_result;
}

#ifdef __cplusplus
struct Target {
  static __device__ inline float ldcs(const float *ptr) { return Target_ldcs(ptr); }
  static __device__ inline float ldcg(const float *ptr) { return Target_ldcg(ptr); }
  static __device__ inline void stcs(float *ptr, float value) { Target_stcs(ptr, value); }
  static __device__ inline void stcg(float *ptr, float value) { Target_stcg(ptr, value); }
  static __device__ inline void prefetch(const float *ptr) { Target_prefetch(ptr); }
  static __device__ inline unsigned int popcount(unsigned int x) { return Target_popcount(x); }
  static __device__ inline unsigned int clz(unsigned int x) { return Target_clz(x); }
  static __device__ inline unsigned int brev(unsigned int x) { return Target_brev(x); }
  static __device__ inline int dot4(unsigned int a, unsigned int b, int c) { return Target_dot4(a, b, c); }
  static __device__ inline float fast_rsqrt(float x) { return Target_fast_rsqrt(x); }
  static __device__ inline float fast_exp2(float x) { return Target_fast_exp2(x); }
  static __device__ inline float fast_sin(float x) { return Target_fast_sin(x); }
  static __device__ inline float fast_cos(float x) { return Target_fast_cos(x); }
  static __device__ inline void assume(bool condition) { Target_assume(condition); }
  static __device__ inline float muladd(float a, float b, float c) { return Target_muladd(a, b, c); }
  static __device__ inline unsigned long long clock() { return Target_clock(); }
};
#endif
#endif
