"""Ascend C: kernels for Huawei's NPUs, compiled by bisheng. Plan tested: no registry has the compiler."""
