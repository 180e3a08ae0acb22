// Made by Atoll from KIR: launch ABI 1, no contraction. OpenCL C 1.2.
#pragma OPENCL FP_CONTRACT OFF

static inline int atoll_shr_i32(int a, int b)
{
  return (uint)b < 32u ? (int)(a >> b) : (int)(a < 0 ? -1 : 0);
}

struct atoll_block_block_sum {
  long f_x_offset;
  long f_x_size_0;
  long f_x_stride_0;
  long f_out_offset;
  long f_out_size_0;
  long f_out_stride_0;
};
typedef char atoll_block_block_sum_size[sizeof(struct atoll_block_block_sum) == 48 ? 1 : -1];

__kernel
__attribute__((reqd_work_group_size(64, 1, 1)))
void atoll_v1_kernel_4c624493_block_sum(__global const float *b_x, __global float *b_out, const struct atoll_block_block_sum p)
{
  __local float s_tile[64];
  int l_l = 0;
  int l_s = 0;
  long l_i = 0;
  l_l = (int)get_local_id(0);
  l_i = (long)((int)get_global_id(0));
  s_tile[l_l] = 0x0.0p+0f;
  if (l_i < p.f_x_size_0) {
    s_tile[l_l] = b_x[p.f_x_offset + l_i * p.f_x_stride_0];
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  l_s = 32;
  while (l_s > 0) {
    if (l_l < l_s) {
      s_tile[l_l] = s_tile[l_l] + s_tile[((int)((uint)l_l + (uint)l_s))];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    l_s = atoll_shr_i32(l_s, 1);
  }
  if (l_l == 0) {
    b_out[p.f_out_offset + ((long)((int)get_group_id(0))) * p.f_out_stride_0] = s_tile[0];
  }
}
