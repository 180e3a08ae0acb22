// Rung 1: a seam by hand over the generated module. Here lengths are checked, and codes become exceptions.
export module front;
import app.kernels;

export namespace front {

/// What is thrown where a call failed.
struct Error {
    const char* reason;
};

/// An answer, and the device that gave it.
template <unsigned n>
struct Answer {
    float values[n];
    const char* device;
};

/// Returns a * x + y; arrays of different lengths do not compile.
template <unsigned n>
Answer<n> saxpy(float a, const float (&x)[n], const float (&y)[n]) {
    Answer<n> answer{};
    if (app::kernels::saxpy(a, x, y, answer.values, n) != 0) throw Error{app::kernels::last_error()};
    answer.device = app::kernels::device_name();
    return answer;
}

}  // namespace front
