// Made by Atoll from KIR: launch ABI 1, no contraction. OpenCL C 1.2.
#pragma OPENCL FP_CONTRACT OFF

struct atoll_block_saxpy {
  uint f_domain_0;
  uint f_domain_1;
  uint f_domain_2;
  float p_a;
  long f_x_offset;
  long f_x_size_0;
  long f_x_stride_0;
  long f_y_offset;
  long f_y_size_0;
  long f_y_stride_0;
  long f_out_offset;
  long f_out_size_0;
  long f_out_stride_0;
};
typedef char atoll_block_saxpy_size[sizeof(struct atoll_block_saxpy) == 88 ? 1 : -1];

__kernel
void atoll_v1_kernel_4c624493_saxpy(__global const float *b_x, __global const float *b_y, __global float *b_out, const struct atoll_block_saxpy p)
{
  int l_i = 0;
  if (get_global_id(0) >= p.f_domain_0 || get_global_id(1) >= p.f_domain_1 || get_global_id(2) >= p.f_domain_2) return;
  l_i = (int)get_global_id(0);
  if (((long)l_i) < p.f_out_size_0) {
    b_out[p.f_out_offset + ((long)l_i) * p.f_out_stride_0] = (p.p_a * b_x[p.f_x_offset + ((long)l_i) * p.f_x_stride_0]) + b_y[p.f_y_offset + ((long)l_i) * p.f_y_stride_0];
  }
}
