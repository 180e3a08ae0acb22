/* Rung 2: legacy.c is not ours to mark, so this header declares what it defines. It joins the module. */
ATOLL_EXPORT_AS(x[n])
void app_scale(float factor, float *x, unsigned n);
