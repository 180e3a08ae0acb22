/* A file that nobody may edit. */
void app_scale(float factor, float *x, unsigned n) {
  for (unsigned i = 0; i < n; ++i) x[i] *= factor;
}
