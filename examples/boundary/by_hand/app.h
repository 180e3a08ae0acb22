/* Rung 3: what the generator would write. Nothing holds the two islands to it: a changed type links clean. */
#ifdef __cplusplus
extern "C" {
#endif
int app_saxpy(float a, const float *x, const float *y, float *out, unsigned n);
const char *app_device(void);
const char *app_error(void);
#ifdef __cplusplus
}
#endif
