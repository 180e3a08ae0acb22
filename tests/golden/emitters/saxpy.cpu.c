/* Made by Atoll from KIR: launch ABI 1, no contraction. */
#include <math.h>
#include <stdint.h>
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize ("fp-contract=off")
#endif

struct atoll_block_saxpy {
  uint32_t f_domain_0;
  uint32_t f_domain_1;
  uint32_t f_domain_2;
  float p_a;
  int64_t f_x_offset;
  int64_t f_x_size_0;
  int64_t f_x_stride_0;
  int64_t f_y_offset;
  int64_t f_y_size_0;
  int64_t f_y_stride_0;
  int64_t f_out_offset;
  int64_t f_out_size_0;
  int64_t f_out_stride_0;
};
typedef char atoll_block_saxpy_size[sizeof(struct atoll_block_saxpy) == 88 ? 1 : -1];

void atoll_v1_kernel_4c624493_saxpy(void *const *buffers, const void *block, const uint32_t groups[3],
    const uint32_t group[3], uint64_t first, uint64_t last)
{
  const struct atoll_block_saxpy p = *(const struct atoll_block_saxpy *)block;
  const float *const b_x = (const float *)buffers[0];
  const float *const b_y = (const float *)buffers[1];
  float *const b_out = (float *)buffers[2];
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
    const uint64_t a0 = (uint64_t)g0 * w0;
    const uint32_t n0 = a0 >= p.f_domain_0 ? 0 : p.f_domain_0 - a0 < w0 ? (uint32_t)(p.f_domain_0 - a0) : w0;
    const uint64_t a1 = (uint64_t)g1 * w1;
    const uint32_t n1 = a1 >= p.f_domain_1 ? 0 : p.f_domain_1 - a1 < w1 ? (uint32_t)(p.f_domain_1 - a1) : w1;
    const uint64_t a2 = (uint64_t)g2 * w2;
    const uint32_t n2 = a2 >= p.f_domain_2 ? 0 : p.f_domain_2 - a2 < w2 ? (uint32_t)(p.f_domain_2 - a2) : w2;
    for (uint32_t i2 = 0; i2 < n2; ++i2)
    for (uint32_t i1 = 0; i1 < n1; ++i1)
    for (uint32_t i0 = 0; i0 < n0; ++i0) {
      int32_t l_i = 0;
      l_i = (int32_t)(g0 * w0 + i0);
      if (((int64_t)l_i) < p.f_out_size_0) {
        b_out[p.f_out_offset + ((int64_t)l_i) * p.f_out_stride_0] = (p.p_a * b_x[p.f_x_offset + ((int64_t)l_i) * p.f_x_stride_0]) + b_y[p.f_y_offset + ((int64_t)l_i) * p.f_y_stride_0];
      }
    }
  }
}
