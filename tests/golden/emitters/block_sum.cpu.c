/* Made by Atoll from KIR: launch ABI 1, no contraction. */
#include <math.h>
#include <stdint.h>
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize ("fp-contract=off")
#endif

static inline int32_t atoll_shr_i32(int32_t a, int32_t b)
{
  return (uint32_t)b < 32u ? (int32_t)(a >> b) : (int32_t)(a < 0 ? -1 : 0);
}

struct atoll_block_block_sum {
  int64_t f_x_offset;
  int64_t f_x_size_0;
  int64_t f_x_stride_0;
  int64_t f_out_offset;
  int64_t f_out_size_0;
  int64_t f_out_stride_0;
};
typedef char atoll_block_block_sum_size[sizeof(struct atoll_block_block_sum) == 48 ? 1 : -1];

void atoll_v1_kernel_4c624493_block_sum(void *const *buffers, const void *block, const uint32_t groups[3],
    const uint32_t group[3], uint64_t first, uint64_t last)
{
  const struct atoll_block_block_sum p = *(const struct atoll_block_block_sum *)block;
  const float *const b_x = (const float *)buffers[0];
  float *const b_out = (float *)buffers[1];
  const uint32_t w0 = group[0];
  const uint32_t w1 = group[1];
  const uint32_t w2 = group[2];
  const uint32_t m0 = groups[0];
  const uint32_t m1 = groups[1];
  const uint32_t m2 = groups[2];
  (void)buffers, (void)block, (void)w0, (void)w1, (void)w2;
  for (uint64_t g = first; g < last; ++g) {
    const uint32_t g0 = (uint32_t)(g % m0), g1 = (uint32_t)(g / m0 % m1);
    const uint32_t g2 = (uint32_t)(g / m0 / m1);
    (void)g0, (void)g1, (void)g2, (void)m2;
    enum { ITEMS = 64 };
    float s_tile[64];
    int32_t l_l[ITEMS];
    int32_t l_s[ITEMS];
    for (uint32_t t = 0; t < ITEMS; ++t) {
      int64_t l_i = 0;
      l_l[t] = (int32_t)(t % 64);
      l_i = (int64_t)((int32_t)(g0 * w0 + (t % 64)));
      s_tile[l_l[t]] = 0x0.0p+0f;
      if (l_i < p.f_x_size_0) {
        s_tile[l_l[t]] = b_x[p.f_x_offset + l_i * p.f_x_stride_0];
      }
    }
    for (uint32_t t = 0; t < ITEMS; ++t) {
      l_s[t] = 32;
    }
    for (;;) {
      _Bool c_4;
      { const uint32_t t = 0; (void)t; c_4 = l_s[t] > 0; }
      if (!c_4) break;
      for (uint32_t t = 0; t < ITEMS; ++t) {
        if (l_l[t] < l_s[t]) {
          s_tile[l_l[t]] = s_tile[l_l[t]] + s_tile[((int32_t)((uint32_t)l_l[t] + (uint32_t)l_s[t]))];
        }
      }
      for (uint32_t t = 0; t < ITEMS; ++t) {
        l_s[t] = atoll_shr_i32(l_s[t], 1);
      }
    }
    for (uint32_t t = 0; t < ITEMS; ++t) {
      if (l_l[t] == 0) {
        b_out[p.f_out_offset + ((int64_t)((int32_t)g0)) * p.f_out_stride_0] = s_tile[0];
      }
    }
  }
}
