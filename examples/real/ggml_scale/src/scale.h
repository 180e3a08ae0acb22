#pragma once
#include <vector>

/* d[i] = a[i] * factor + bias; 0 where it worked. */
int scale(const std::vector<float>& a, std::vector<float>& d, float factor, float bias);

/* Where it ran, and why it did not. */
const char* device();
const char* failure();
