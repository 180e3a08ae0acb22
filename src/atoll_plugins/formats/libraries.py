"""Which shared libraries belong to a device vendor, so that needing them is a fact worth stating?"""

from __future__ import annotations

# The start of a library's name. Those of a driver come with the vendor's driver, the others with a toolkit.
VENDOR_PREFIXES = (
    "libOpenCL.",
    "libamdhip64.",
    "libascendcl.",
    "libcublas",
    "libcuda.",
    "libcudart.",
    "libcudnn",
    "libcufft",
    "libcufile",
    "libcupti.",
    "libcurand.",
    "libcusolver",
    "libcusparse",
    "libhip",
    "libhsa-runtime64.",
    "libmiopen",
    "libMIOpen",
    "libnccl.",
    "libnpp",
    "libnvJitLink.",
    "libnvToolsExt.",
    "libnvidia-",
    "libnvjpeg",
    "libnvrtc",
    "libnvvm.",
    "librccl.",
    "librocblas.",
    "libsycl.",
    "libur_loader.",
    "libvulkan.",
    "libze_loader.",
)


def of_vendor(library: str) -> bool:
    """Tell whether a library is a vendor's, by the start of its name."""
    return library.rsplit("/", 1)[-1].startswith(VENDOR_PREFIXES)
