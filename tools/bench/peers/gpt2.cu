// What a CUDA programmer writes for the jobs of examples/gpt2: the peers that tools/bench/gpt2_on_device.py
// measures beside them. In the manner of llm.c's fp32 kernels; nvcc's own defaults, so products are contracted.
#define FULL 0xffffffffu
#define GRID(i) const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x

__device__ inline float warp_sum(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(FULL, v, o);
  return v;
}
__device__ inline float warp_max(float v) {
  for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(FULL, v, o));
  return v;
}
__device__ inline float block_total(float v) {
  __shared__ float part[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
  v = warp_sum(v);
  __syncthreads();
  if (lane == 0) part[warp] = v;
  __syncthreads();
  return warp_sum(lane < warps ? part[lane] : 0.f);
}
__device__ inline float block_peak(float v) {
  __shared__ float part[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
  v = warp_max(v);
  __syncthreads();
  if (lane == 0) part[warp] = v;
  __syncthreads();
  return warp_max(lane < warps ? part[lane] : -1e30f);
}

extern "C" __global__ void encoder_forward(float *out, const int *tokens, const float *wte, const float *wpe,
                                           int n, int T, int C) {
  GRID(i);
  if (i >= n) return;
  const int bt = i / C, c = i % C;
  __stcs(out + i, wte[(long long)tokens[bt] * C + c] + wpe[(bt % T) * C + c]);
}
extern "C" __global__ void encoder_backward_token(float *dwte, const int *tokens, const float *g, int n, int C) {
  GRID(i);
  if (i < n) atomicAdd(dwte + (long long)tokens[i / C] * C + i % C, __ldcs(g + i));
}
extern "C" __global__ void encoder_backward_place(float *dwpe, const float *g, int B, int n) {
  GRID(i);
  if (i >= n) return;
  float total = 0;
  for (int b = 0; b < B; b++) total += g[(long long)b * n + i];
  dwpe[i] += total;
}
extern "C" __global__ void layernorm_forward(float *out, float *mean, float *rstd, const float *inp,
                                             const float *weight, const float *bias, int N, int C) {
  const int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  if (row >= N) return;
  const float *x = inp + (long long)row * C;
  float sum = 0;
  for (int c = lane; c < C; c += 32) sum += x[c];
  const float m = warp_sum(sum) / C;
  sum = 0;
  for (int c = lane; c < C; c += 32) sum += (x[c] - m) * (x[c] - m);
  const float s = rsqrtf(warp_sum(sum) / C + 1e-5f);
  for (int c = lane; c < C; c += 32)
    __stcs(out + (long long)row * C + c, (__ldcs(x + c) - m) * s * weight[c] + bias[c]);
  if (lane == 0) mean[row] = m, rstd[row] = s;
}
extern "C" __global__ void layernorm_backward(float *dinp, const float *dout, const float *inp, const float *weight,
                                              const float *mean, const float *rstd, int N, int C) {
  const int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  if (row >= N) return;
  const long long at = (long long)row * C;
  const float m = mean[row], s = rstd[row];
  float plain = 0, scaled = 0;
  for (int c = lane; c < C; c += 32) {
    const float part = weight[c] * dout[at + c];
    plain += part, scaled += part * (inp[at + c] - m) * s;
  }
  plain = warp_sum(plain) / C, scaled = warp_sum(scaled) / C;
  for (int c = lane; c < C; c += 32)
    dinp[at + c] += (weight[c] * dout[at + c] - plain - (inp[at + c] - m) * s * scaled) * s;
}
extern "C" __global__ void layernorm_backward_weights(float *dweight, float *dbias, const float *dout, const float *inp,
                                                      const float *mean, const float *rstd, int N, int C, int parts) {
  GRID(c);
  if (c >= C) return;
  float scale = 0, shift = 0;
  for (int row = blockIdx.y; row < N; row += parts) {
    const float g = dout[(long long)row * C + c];
    scale += g * (inp[(long long)row * C + c] - mean[row]) * rstd[row], shift += g;
  }
  atomicAdd(dweight + c, scale), atomicAdd(dbias + c, shift);
}
extern "C" __global__ void column_sum(float *out, const float *x, int N, int C, int parts) {
  GRID(c);
  if (c >= C) return;
  float total = 0;
  for (int row = blockIdx.y; row < N; row += parts) total += __ldcs(x + (long long)row * C + c);
  atomicAdd(out + c, total);
}

// out = alpha a b (+ bias) (+ out) with strides: 8 by 8 results a thread, SIDE by SIDE threads, as llm.c's fp32
// matmul_forward_kernel4 has; AF and BF say whether a row of a or b lies flat.
template <int SIDE, bool AF, bool BF>
__device__ inline void product(float *out, const float *a, const float *b, const float *bias, int M, int N, int K,
                               int ar, int ac, int ao, int ai, int br, int bc, int bo, int bi, int cr, int co, int ci,
                               int inner, float alpha, int add, int causal) {
  constexpr int TILE = 8 * SIDE;
  __shared__ float left[SIDE][TILE + 1], right[SIDE][TILE + 1];
  const int x = threadIdx.x, y = threadIdx.y, t = y * SIDE + x, m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE;
  if (causal == 1 && n0 > m0) return;
  a += (long long)(blockIdx.z / inner) * ao + (blockIdx.z % inner) * ai;
  b += (long long)(blockIdx.z / inner) * bo + (blockIdx.z % inner) * bi;
  out += (long long)(blockIdx.z / inner) * co + (blockIdx.z % inner) * ci;
  float acc[8][8] = {};
  const int low = causal == 3 ? m0 : 0, high = causal == 2 ? min(K, m0 + TILE) : K;
  for (int first = low; first < high; first += SIDE) {
#pragma unroll
    for (int p = 0; p < 8; p++) {
      const int n = t + p * SIDE * SIDE;
      int k = AF ? n % SIDE : n / TILE, i = AF ? n / SIDE : n % TILE;
      left[k][i] = m0 + i < M && first + k < K ? a[(m0 + i) * ar + (first + k) * ac] : 0.f;
      k = BF ? n / TILE : n % SIDE, i = BF ? n % TILE : n / SIDE;
      right[k][i] = n0 + i < N && first + k < K ? b[(first + k) * br + (n0 + i) * bc] : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SIDE; k++) {
      float down[8], across[8];
      for (int i = 0; i < 8; i++) down[i] = left[k][i * SIDE + y], across[i] = right[k][i * SIDE + x];
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) acc[i][j] += down[i] * across[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int row = m0 + i * SIDE + y;
    if (row >= M) continue;
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const int column = n0 + j * SIDE + x;
      if (column >= N) continue;
      float *to = out + row * cr + column;
      *to = alpha * acc[i][j] + (bias ? bias[column] : 0.f) + (add ? *to : 0.f);
    }
  }
}
#define PRODUCT(SIDE, AF, BF)                                                                                        \
  extern "C" __global__ void __launch_bounds__(SIDE * SIDE) matmul_##SIDE##_##AF##BF(                                \
      float *out, const float *a, const float *b, const float *bias, int M, int N, int K, int ar, int ac, int ao,    \
      int ai, int br, int bc, int bo, int bi, int cr, int co, int ci, int inner, float alpha, int add, int causal) { \
    product<SIDE, AF, BF>(out, a, b, bias, M, N, K, ar, ac, ao, ai, br, bc, bo, bi, cr, co, ci, inner, alpha, add,   \
                          causal);                                                                                   \
  }
PRODUCT(16, 1, 0)
PRODUCT(16, 1, 1)
PRODUCT(16, 0, 1)
PRODUCT(8, 1, 1)
PRODUCT(8, 0, 1)
extern "C" __global__ void softmax_forward(float *x, int rows, int T) {
  const int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  if (row >= rows) return;
  float *p = x + (long long)row * T;
  const int seen = row % T + 1;
  float most = -1e30f, total = 0;
  for (int c = lane; c < seen; c += 32) most = fmaxf(most, p[c]);
  most = warp_max(most);
  for (int c = lane; c < seen; c += 32) total += expf(p[c] - most);
  const float scale = 1.f / warp_sum(total);
  for (int c = lane; c < T; c += 32) __stcs(p + c, c < seen ? expf(__ldcs(p + c) - most) * scale : 0.f);
}
extern "C" __global__ void softmax_backward(float *g, const float *w, int rows, int T) {
  const int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
  if (row >= rows) return;
  const long long at = (long long)row * T;
  const int seen = row % T + 1;
  float total = 0;
  for (int c = lane; c < seen; c += 32) total += g[at + c] * w[at + c];
  total = warp_sum(total);
  for (int c = lane; c < T; c += 32)
    __stcs(g + at + c, c < seen ? __ldcs(w + at + c) * (__ldcs(g + at + c) - total) : 0.f);
}
#define ROOT 0.7978845608028654f
extern "C" __global__ void gelu_forward(float *out, const float *x, int n) {
  GRID(i);
  if (i >= n) return;
  const float v = __ldcg(x + i);
  __stcs(out + i, 0.5f * v * (1.f + tanhf(ROOT * (v + 0.044715f * v * v * v))));
}
extern "C" __global__ void gelu_backward(float *dx, const float *x, const float *g, int n) {
  GRID(i);
  if (i >= n) return;
  const float v = __ldcs(x + i), t = tanhf(ROOT * (v + 0.044715f * v * v * v));
  const float slope = (1.f - t * t) * ROOT * (1.f + 3.f * 0.044715f * v * v);
  __stcs(dx + i, (0.5f * (1.f + t) + 0.5f * v * slope) * __ldcs(g + i));
}
extern "C" __global__ void residual_forward(float *out, const float *x, const float *y, int n) {
  GRID(i);
  if (i < n) __stcs(out + i, __ldcs(x + i) + __ldcs(y + i));
}
extern "C" __global__ void residual_backward(float *dx, const float *g, int n) {
  GRID(i);
  if (i < n) __stcs(dx + i, __ldcs(dx + i) + __ldcs(g + i));
}
extern "C" __global__ void classifier(float *losses, float *logits, const int *targets, int V, float scale) {
  float *p = logits + (long long)blockIdx.x * V;
  float own = -1e30f, total = 0;
  for (int c = threadIdx.x; c < V; c += blockDim.x) {  // in one pass, as llm.c's fused classifier does
    const float v = p[c], above = fmaxf(own, v);
    total = total * expf(own - above) + expf(v - above);
    own = above;
  }
  const float most = block_peak(own);
  total = block_total(total * expf(own - most));
  const int wanted = targets[blockIdx.x];
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(total) + most - p[wanted];
  __syncthreads();
  for (int c = threadIdx.x; c < V; c += blockDim.x) {
    const float share = expf(__ldcs(p + c) - most) / total;
    __stcs(p + c, (share - (c == wanted ? 1.f : 0.f)) * scale);
  }
}
extern "C" __global__ void adamw(float *w, const float *g, float *m, float *v, int n, float rate, float b1, float b2,
                                 float c1, float c2, float eps, float decay, float shrink) {
  GRID(i);
  if (i >= n) return;
  const float grad = __ldcs(g + i) * shrink;
  const float first = b1 * m[i] + (1.f - b1) * grad, second = b2 * v[i] + (1.f - b2) * grad * grad;
  m[i] = first, v[i] = second;
  w[i] -= rate * ((first / c1) / (sqrtf(second / c2) + eps) + decay * w[i]);
}
extern "C" __global__ void global_norm(float *out, const float *x, int n) {
  float total = 0;
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    const float v = __ldcs(x + i);
    total += v * v;
  }
  total = block_total(total);
  if (threadIdx.x == 0) atomicAdd(out, total);
}
