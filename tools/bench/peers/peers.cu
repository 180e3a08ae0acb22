// What a CUDA programmer writes for the jobs of examples/kernels: the peers that tools/bench/kernels_on_device.py
// measures beside them. Compiled by nvcc with its own defaults, so products and sums are contracted here.
#include <cstdint>

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

// The sum of a block of up to 1024 threads, to every thread.
__device__ inline float block_total(float v) {
  __shared__ float part[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
  v = warp_sum(v);
  __syncthreads();
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = lane < warps ? part[lane] : 0.f;
  return warp_sum(v);
}
__device__ inline float block_peak(float v) {
  __shared__ float part[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
  v = warp_max(v);
  __syncthreads();
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = lane < warps ? part[lane] : -3.0e38f;
  return warp_max(v);
}

// --- one element a thread, four at a time ---

extern "C" __global__ void saxpy(float a, const float4 *__restrict__ x, const float4 *__restrict__ y,
                                 float4 *__restrict__ out, long long n4) {
  GRID(i);
  if (i >= n4) return;
  const float4 p = x[i], q = y[i];
  out[i] = make_float4(a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w);
}
extern "C" __global__ void residual_add(const float4 *__restrict__ x, const float4 *__restrict__ y,
                                        float4 *__restrict__ out, long long n4) {
  GRID(i);
  if (i >= n4) return;
  const float4 p = x[i], q = y[i];
  out[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
}
__device__ inline float gelu(float x) {
  return 0.5f * x * (1.f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
}
extern "C" __global__ void gelu_forward(const float4 *__restrict__ x, float4 *__restrict__ out, long long n4) {
  GRID(i);
  if (i >= n4) return;
  const float4 p = x[i];
  out[i] = make_float4(gelu(p.x), gelu(p.y), gelu(p.z), gelu(p.w));
}
__device__ inline float gelu_slope(float v) {
  const float s = tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v));
  const float inner = 0.7978845608028654f * (1.f + 3.f * 0.044715f * v * v);
  return 0.5f * (1.f + s) + 0.5f * v * (1.f - s * s) * inner;
}
extern "C" __global__ void gelu_backward(const float4 *__restrict__ x, const float4 *__restrict__ g,
                                         float4 *__restrict__ out, long long n4) {
  GRID(i);
  if (i >= n4) return;
  const float4 p = x[i], q = g[i];
  out[i] = make_float4(q.x * gelu_slope(p.x), q.y * gelu_slope(p.y), q.z * gelu_slope(p.z), q.w * gelu_slope(p.w));
}
__device__ inline uint32_t mixed(uint32_t s) {
  s = (s ^ 61u) ^ (s >> 16);
  s *= 9u;
  s ^= s >> 4;
  s *= 0x27D4EB2Du;
  return s ^ (s >> 15);
}
extern "C" __global__ void adamw(float rate, float beta1, float beta2, float decay, int step, uint32_t seed,
                                 const float *__restrict__ gradient, float *__restrict__ m, float *__restrict__ v,
                                 float *__restrict__ master, uint16_t *__restrict__ low, long long n) {
  GRID(i);
  if (i >= n) return;
  const float g = gradient[i];
  const float a = beta1 * m[i] + (1.f - beta1) * g, b = beta2 * v[i] + (1.f - beta2) * g * g;
  m[i] = a;
  v[i] = b;
  const float mean = a / (1.f - powf(beta1, (float)step)), spread = b / (1.f - powf(beta2, (float)step));
  const float old = master[i], value = old - rate * (mean / (sqrtf(spread) + 1e-8f) + decay * old);
  master[i] = value;
  low[i] = (uint16_t)((__float_as_uint(value) + (mixed(seed + (uint32_t)i) & 0xFFFFu)) >> 16);
}

// --- moving ---

extern "C" __global__ void transpose(const float *__restrict__ x, float *__restrict__ out, int rows, int columns) {
  __shared__ float tile[32][33];
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (c < columns && r + k < rows) tile[threadIdx.y + k][threadIdx.x] = x[(long long)(r + k) * columns + c];
  __syncthreads();
  const int tc = blockIdx.y * 32 + threadIdx.x, tr = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (tc < rows && tr + k < columns) out[(long long)(tr + k) * rows + tc] = tile[threadIdx.x][threadIdx.y + k];
}
extern "C" __global__ void encoder_forward(const int *__restrict__ tokens, const float4 *__restrict__ words,
                                           const float4 *__restrict__ places, float4 *__restrict__ out, int t, int c4,
                                           long long n4) {
  GRID(i);
  if (i >= n4) return;
  const long long bt = i / c4;
  const int c = (int)(i - bt * c4), at = (int)(bt % t);
  const float4 p = words[(long long)tokens[bt] * c4 + c], q = places[(long long)at * c4 + c];
  out[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
}
extern "C" __global__ void encoder_backward(const int *__restrict__ tokens, const float *__restrict__ g,
                                            float *__restrict__ words, float *__restrict__ places, int t, int c,
                                            long long n) {
  GRID(i);
  if (i >= n) return;
  const long long bt = i / c;
  const int k = (int)(i - bt * c), at = (int)(bt % t);
  const float value = g[i];
  atomicAdd(&words[(long long)tokens[bt] * c + k], value);
  atomicAdd(&places[(long long)at * c + k], value);
}

// --- working together ---

extern "C" __global__ void block_sum(const float *__restrict__ x, float *__restrict__ sums, long long n) {
  __shared__ float part[2];
  float own = 0.f;
  for (int k = 0; k < 4; k++) {
    const long long i = blockIdx.x * 1024LL + k * 256 + threadIdx.x * 4;
    const float4 p = i + 3 < n ? *(const float4 *)(x + i) : make_float4(0.f, 0.f, 0.f, 0.f);
    own += (p.x + p.y) + (p.z + p.w);
  }
  const float v = warp_sum(own);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0] + part[1];
}
extern "C" __global__ void histogram(const int *__restrict__ x, int *__restrict__ counts, long long n) {
  __shared__ int mine[16];
  const long long i = blockIdx.x * 256LL + threadIdx.x * 4;
  if (threadIdx.x < 16) mine[threadIdx.x] = 0;
  __syncthreads();
  if (i + 3 < n) {
    const int4 p = *(const int4 *)(x + i);
    atomicAdd(&mine[p.x & 15], 1);
    atomicAdd(&mine[p.y & 15], 1);
    atomicAdd(&mine[p.z & 15], 1);
    atomicAdd(&mine[p.w & 15], 1);
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}
extern "C" __global__ void exclusive_scan(const int4 *__restrict__ x, int4 *__restrict__ out, int *__restrict__ sums,
                                          long long n4) {
  __shared__ int part[2];
  const long long i = (blockIdx.x * 64LL + threadIdx.x) * 4;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int4 p[4];
  int own = 0;
  for (int k = 0; k < 4; k++) {
    p[k] = i + k < n4 ? x[i + k] : make_int4(0, 0, 0, 0);
    own += p[k].x + p[k].y + p[k].z + p[k].w;
  }
  int v = own;
  for (int o = 1; o < 32; o <<= 1) {
    const int other = __shfl_up_sync(FULL, v, o);
    if (lane >= o) v += other;
  }
  if (lane == 31) part[warp] = v;
  __syncthreads();
  int before = v - own + (warp ? part[0] : 0);
  for (int k = 0; k < 4; k++) {
    const int4 q = p[k];
    if (i + k < n4) out[i + k] = make_int4(before, before + q.x, before + q.x + q.y, before + q.x + q.y + q.z);
    before += q.x + q.y + q.z + q.w;
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0] + part[1];
}
extern "C" __global__ void add_offsets(int4 *__restrict__ out, const int *__restrict__ offsets, long long n4) {
  GRID(i);
  if (i >= n4) return;
  int4 p = out[i];
  const int o = offsets[i >> 8];
  p.x += o; p.y += o; p.z += o; p.w += o;
  out[i] = p;
}
extern "C" __global__ void bitonic_sort(const int *__restrict__ x, int *__restrict__ out, long long n) {
  __shared__ int row[64];
  GRID(i);
  const int lane = threadIdx.x;
  row[lane] = i < n ? x[i] : 0x7fffffff;
  for (int size = 2; size <= 64; size <<= 1)
    for (int d = size >> 1; d > 0; d >>= 1) {
      __syncthreads();
      const int p = lane ^ d;
      if (p > lane) {
        const int a = row[lane], b = row[p];
        if ((a > b) == ((lane & size) == 0)) { row[lane] = b; row[p] = a; }
      }
    }
  __syncthreads();
  if (i < n) out[i] = row[lane];
}

// --- one row a block ---

extern "C" __global__ void layernorm_forward(const float *__restrict__ x, const float *__restrict__ w,
                                             const float *__restrict__ bias, float *__restrict__ out,
                                             float *__restrict__ mean, float *__restrict__ rstd, int c) {
  const float *row = x + (long long)blockIdx.x * c;
  float s = 0.f;
  for (int k = threadIdx.x; k < c; k += blockDim.x) s += row[k];
  const float m = block_total(s) / c;
  s = 0.f;
  for (int k = threadIdx.x; k < c; k += blockDim.x) s += (row[k] - m) * (row[k] - m);
  const float r = rsqrtf(block_total(s) / c + 1e-5f);
  for (int k = threadIdx.x; k < c; k += blockDim.x)
    __stcs(out + (long long)blockIdx.x * c + k, (__ldcs(row + k) - m) * r * w[k] + bias[k]);
  if (threadIdx.x == 0) { mean[blockIdx.x] = m; rstd[blockIdx.x] = r; }
}
extern "C" __global__ void layernorm_backward(const float *__restrict__ x, const float *__restrict__ w,
                                              const float *__restrict__ g, const float *__restrict__ mean,
                                              const float *__restrict__ rstd, float *__restrict__ to_x,
                                              float *__restrict__ to_w, float *__restrict__ to_b, int c) {
  const long long at = (long long)blockIdx.x * c;
  const float m = mean[blockIdx.x], r = rstd[blockIdx.x];
  float plain = 0.f, weighted = 0.f;
  for (int k = threadIdx.x; k < c; k += blockDim.x) {
    const float p = w[k] * g[at + k];
    plain += p;
    weighted += p * (x[at + k] - m) * r;
  }
  plain = block_total(plain) / c;
  weighted = block_total(weighted) / c;
  for (int k = threadIdx.x; k < c; k += blockDim.x) {
    const float normal = (x[at + k] - m) * r, up = g[at + k];
    to_x[at + k] += (w[k] * up - plain - normal * weighted) * r;
    atomicAdd(&to_w[k], up * normal);
    atomicAdd(&to_b[k], up);
  }
}
extern "C" __global__ void softmax(const float *__restrict__ x, float *__restrict__ out, int c) {
  const long long at = (long long)blockIdx.x * c;
  float peak = -3.0e38f, total = 0.f;
  for (int k = threadIdx.x; k < c; k += blockDim.x) {
    const float v = x[at + k], top = fmaxf(peak, v);
    total = total * __expf(peak - top) + __expf(v - top);
    peak = top;
  }
  const float top = block_peak(peak);
  total = block_total(total * __expf(peak - top));
  for (int k = threadIdx.x; k < c; k += blockDim.x) out[at + k] = __expf(x[at + k] - top) / total;
}
extern "C" __global__ void classifier(float *__restrict__ logits, const int *__restrict__ targets, float scale,
                                      float *__restrict__ losses, int c) {
  const long long at = (long long)blockIdx.x * c;
  const int target = targets[blockIdx.x];
  float peak = -3.0e38f, total = 0.f;
  for (int k = threadIdx.x; k < c; k += blockDim.x) {
    const float v = logits[at + k], top = fmaxf(peak, v);
    total = total * __expf(peak - top) + __expf(v - top);
    peak = top;
  }
  const float top = block_peak(peak);
  total = block_total(total * __expf(peak - top));
  if (threadIdx.x == 0) losses[blockIdx.x] = __logf(total) - (logits[at + target] - top);
  __syncthreads();
  for (int k = threadIdx.x; k < c; k += blockDim.x)
    logits[at + k] = (__expf(logits[at + k] - top) / total - (k == target ? 1.f : 0.f)) * scale;
}

// --- matrices ---

extern "C" __global__ void matmul_naive(const float *__restrict__ a, const float *__restrict__ b,
                                        float *__restrict__ out, int m, int n, int k) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= m || c >= n) return;
  float total = 0.f;
  for (int i = 0; i < k; i++) total += a[(long long)r * k + i] * b[(long long)i * n + c];
  out[(long long)r * n + c] = total;
}
#define T 8
extern "C" __global__ void matmul_tiled(const float *__restrict__ a, const float *__restrict__ b,
                                        float *__restrict__ out, int m, int n, int k) {
  __shared__ float l[T][T], r[T][T];
  const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * T + x, row = blockIdx.y * T + y;
  float total = 0.f;
  for (int f = 0; f < k; f += T) {
    l[y][x] = row < m && f + x < k ? a[(long long)row * k + f + x] : 0.f;
    r[y][x] = f + y < k && column < n ? b[(long long)(f + y) * n + column] : 0.f;
    __syncthreads();
    for (int i = 0; i < T; i++) total += l[y][i] * r[i][x];
    __syncthreads();
  }
  if (row < m && column < n) out[(long long)row * n + column] = total;
}
#define E 2
extern "C" __global__ void matmul_blocked(const float *__restrict__ a, const float *__restrict__ b,
                                          float *__restrict__ out, int m, int n, int k) {
  __shared__ float l[T * E][T], r[T][T * E];
  const int x = threadIdx.x, y = threadIdx.y, fr = blockIdx.y * T * E, fc = blockIdx.x * T * E;
  float block[E][E] = {};
  for (int f = 0; f < k; f += T) {
    for (int p = 0; p < E; p++) {
      const int row = fr + p * T + y, column = fc + p * T + x;
      l[p * T + y][x] = row < m && f + x < k ? a[(long long)row * k + f + x] : 0.f;
      r[y][p * T + x] = f + y < k && column < n ? b[(long long)(f + y) * n + column] : 0.f;
    }
    __syncthreads();
    for (int i = 0; i < T; i++)
      for (int p = 0; p < E; p++)
        for (int q = 0; q < E; q++) block[p][q] += l[p * T + y][i] * r[i][q * T + x];
    __syncthreads();
  }
  for (int p = 0; p < E; p++)
    for (int q = 0; q < E; q++) {
      const int row = fr + p * T + y, column = fc + q * T + x;
      if (row < m && column < n) out[(long long)row * n + column] = block[p][q];
    }
}

// --- attention, 16 wide ---

#define W 16
extern "C" __global__ void attention_naive(int causal, float scale, const float *__restrict__ q,
                                           const float *__restrict__ k, const float *__restrict__ v,
                                           float *__restrict__ out, int rows, int keys) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int length = causal ? row + 1 : keys;
  float mine[W], sums[W] = {}, peak = -3.0e38f, total = 0.f;
  for (int c = 0; c < W; c++) mine[c] = q[(long long)row * W + c] * scale;
  for (int o = 0; o < length; o++) {
    float score = 0.f;
    for (int c = 0; c < W; c++) score += mine[c] * k[(long long)o * W + c];
    const float top = fmaxf(peak, score), kept = __expf(peak - top), share = __expf(score - top);
    total = total * kept + share;
    for (int c = 0; c < W; c++) sums[c] = sums[c] * kept + share * v[(long long)o * W + c];
    peak = top;
  }
  for (int c = 0; c < W; c++) out[(long long)row * W + c] = sums[c] / total;
}
#define A 8
extern "C" __global__ void attention_flash(int causal, float scale, const float *__restrict__ q,
                                           const float *__restrict__ k, const float *__restrict__ v,
                                           float *__restrict__ out, int rows, int length) {
  __shared__ float keys[A][W], values[A][W];
  const int lane = threadIdx.x, row = blockIdx.x * A + lane;
  float mine[W], sums[W] = {}, peak = -3.0e38f, total = 0.f;
  for (int c = 0; c < W; c++) mine[c] = row < rows ? q[(long long)row * W + c] * scale : 0.f;
  for (int f = 0; f < length; f += A) {
    for (int c = 0; c < W; c++) {
      keys[lane][c] = f + lane < length ? k[(long long)(f + lane) * W + c] : 0.f;
      values[lane][c] = f + lane < length ? v[(long long)(f + lane) * W + c] : 0.f;
    }
    __syncthreads();
    for (int o = 0; o < A; o++)
      if (f + o < length && (!causal || f + o <= row)) {
        float score = 0.f;
        for (int c = 0; c < W; c++) score += mine[c] * keys[o][c];
        const float top = fmaxf(peak, score), kept = __expf(peak - top), share = __expf(score - top);
        total = total * kept + share;
        for (int c = 0; c < W; c++) sums[c] = sums[c] * kept + share * values[o][c];
        peak = top;
      }
    __syncthreads();
  }
  if (row < rows)
    for (int c = 0; c < W; c++) out[(long long)row * W + c] = sums[c] / total;
}

// --- grids, bodies, sparse rows, random numbers ---

extern "C" __global__ void stencil(const float *__restrict__ x, float *__restrict__ out, int height, int width) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= height || c >= width) return;
  const long long at = (long long)r * width + c;
  if (r == 0 || c == 0 || r == height - 1 || c == width - 1) out[at] = x[at];
  else out[at] = (x[at - width] + x[at + width] + x[at - 1] + x[at + 1]) * 0.25f;
}
extern "C" __global__ void mandelbrot(float left, float top, float step, int limit, int *__restrict__ counts,
                                      int height, int width) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= height || c >= width) return;
  const float real = left + c * step, imaginary = top + r * step;
  float x = 0.f, y = 0.f;
  int count = 0;
  while (count < limit) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.f) break;
    y = 2.f * x * y + imaginary;
    x = xx - yy + real;
    count++;
  }
  counts[(long long)r * width + c] = count;
}
extern "C" __global__ void life(const uint8_t *__restrict__ board, uint8_t *__restrict__ out, int height, int width) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= height || c >= width) return;
  const int up = r ? r - 1 : height - 1, down = r + 1 < height ? r + 1 : 0;
  const int left = c ? c - 1 : width - 1, right = c + 1 < width ? c + 1 : 0;
  const uint8_t *a = board + (long long)up * width, *b = board + (long long)r * width,
                *d = board + (long long)down * width;
  const int count = a[left] + a[c] + a[right] + b[left] + b[right] + d[left] + d[c] + d[right];
  out[(long long)r * width + c] = count == 3 || (count == 2 && b[c] != 0);
}
extern "C" __global__ void nbody(float step, const float4 *__restrict__ bodies, float *__restrict__ speeds,
                                 float4 *__restrict__ out, int count) {
  __shared__ float4 tile[32];
  const int i = blockIdx.x * 32 + threadIdx.x;
  const float4 mine = bodies[i < count ? i : count - 1];
  float x = 0.f, y = 0.f, z = 0.f;
  for (int f = 0; f < count; f += 32) {
    tile[threadIdx.x] = f + threadIdx.x < count ? bodies[f + threadIdx.x] : make_float4(0.f, 0.f, 0.f, 0.f);
    __syncthreads();
    for (int k = 0; k < 32; k++) {
      const float4 o = tile[k];
      const float dx = o.x - mine.x, dy = o.y - mine.y, dz = o.z - mine.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      const float s = o.w * inverse * inverse * inverse;
      x += dx * s; y += dy * s; z += dz * s;
    }
    __syncthreads();
  }
  if (i >= count) return;
  float *v = speeds + 3LL * i;
  v[0] += x * step; v[1] += y * step; v[2] += z * step;
  out[i] = make_float4(mine.x + v[0] * step, mine.y + v[1] * step, mine.z + v[2] * step, mine.w);
}
extern "C" __global__ void spmv(const long long *__restrict__ offsets, const int *__restrict__ columns,
                                const float *__restrict__ values, const float *__restrict__ x,
                                float *__restrict__ out, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float total = 0.f;
  for (long long at = offsets[row]; at < offsets[row + 1]; at++)
    if (values[at] != 0.f) total += values[at] * x[columns[at]];
  out[row] = total;
}
extern "C" __global__ void philox(uint32_t key0, uint32_t key1, uint4 *__restrict__ out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t a = (uint32_t)i, b = 0, c = 0, d = 0;
  for (int k = 0; k < 10; k++) {
    const uint32_t na = __umulhi(0xCD9E8D57u, c) ^ b ^ key0, nb = 0xCD9E8D57u * c;
    const uint32_t nc = __umulhi(0xD2511F53u, a) ^ d ^ key1, nd = 0xD2511F53u * a;
    a = na; b = nb; c = nc; d = nd;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  out[i] = make_uint4(a, b, c, d);
}
