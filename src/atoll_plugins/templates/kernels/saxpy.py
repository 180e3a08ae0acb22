import atoll
from atoll import f32, kernel, view


@kernel
def saxpy(a: f32, x: view[f32], y: view[f32], out: view[f32]):
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = a * x[i] + y[i]
