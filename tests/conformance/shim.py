"""A library that stands between a launcher or driver and the vendor's: it writes a log and can fail.

It is generated from the declarations in ``abi.h``, so it has every function. SHIM_LOG is the file of the
log, one function name a line. SHIM_FAIL is ``function:n:code``: the n-th call returns the code and does
not reach the real library. SHIM_REAL is the real library.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from conformance.driver_kernels import build_library, plugin_folder

_HEAD = """\
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi.h"

static void *real(const char *name) {
  static void *library;
  if (library == NULL) library = dlopen(getenv("SHIM_REAL"), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) abort();
  return dlsym(library, name);
}

/* Write the log; 1 and the code where this call is to fail. */
static int fails(const char *name, int *code) {
  static char last[256];
  static int count;
  const char *path = getenv("SHIM_LOG"), *fail = getenv("SHIM_FAIL");
  FILE *file = path ? fopen(path, "a") : NULL;
  size_t length = strlen(name);
  int turn;
  if (file) {
    fprintf(file, "%s\\n", name);
    fclose(file);
  }
  if (!fail || strcmp(fail, last) != 0) {
    snprintf(last, sizeof last, "%s", fail ? fail : "");
    count = 0;
  }
  if (!fail || strncmp(fail, name, length) != 0 || fail[length] != ':') return 0;
  return sscanf(fail + length, ":%d:%d", &turn, code) == 2 && ++count == turn;
}
"""

_PROTOTYPE = re.compile(r"^(?!typedef\b)([A-Za-z_]\w*)\s+(\w+)\(((?:[^()]|\([^()]*\))*)\);", re.MULTILINE)


def build(backend: str, folder: Path) -> Path:
    """Build the shim of a backend's interface."""
    abi = plugin_folder(backend) / "abi.h"
    source = folder / f"shim_{backend}.c"
    source.write_text(_HEAD + "".join(_forwarder(*found) for found in _PROTOTYPE.findall(abi.read_text())))
    return build_library(source, folder / f"libshim_{backend}.so", f"-I{abi.parent}", "-ldl", "-w")


def _forwarder(result: str, name: str, parameters: str) -> str:
    folded = " ".join(parameters.split())
    names = [_name(item) for item in re.split(r",(?![^()]*\))", folded) if item != "void"]
    call = f'((__typeof__(&{name}))real("{name}"))({", ".join(names)})'
    fail = f'  int code = 0, failed = fails("{name}", &code);\n'
    if result == "void":
        return f"{result} {name}({folded}) {{\n{fail}  (void)failed;\n  {call};\n}}\n"
    failing = "return code;"
    if "errcode_ret" in names:
        failing = "{ *errcode_ret = code; return NULL; }"
    return f"{result} {name}({folded}) {{\n{fail}  if (failed) {failing}\n  return {call};\n}}\n"


def _name(parameter: str) -> str:
    pointer = re.search(r"\(\*(\w+)\)", parameter)
    found = pointer or re.search(r"(\w+)$", parameter.strip())
    assert found is not None, parameter
    return found[1]


# What makes and what unmakes, by interface.
PAIRS = {
    "vulkan": {
        "vkCreateBuffer": "vkDestroyBuffer",
        "vkAllocateMemory": "vkFreeMemory",
        "vkMapMemory": "vkUnmapMemory",
        "vkCreateShaderModule": "vkDestroyShaderModule",
        "vkCreateDescriptorPool": "vkDestroyDescriptorPool",
    },
    "opencl": {"clCreateBuffer": "clReleaseMemObject"},
    "cuda": {"cuMemAlloc_v2": "cuMemFree_v2", "cuCtxPushCurrent_v2": "cuCtxPopCurrent_v2"},
}

# What a driver keeps as long as its device is open.
OPENED = {
    "vulkan": {
        "vkCreateSemaphore": "vkDestroySemaphore",
        "vkCreateCommandPool": "vkDestroyCommandPool",
        "vkCreatePipelineCache": "vkDestroyPipelineCache",
    }
}

# What a kept pipeline or module holds as long as its device is open.
KEPT = {
    "vulkan": {
        "vkCreateDescriptorSetLayout": "vkDestroyDescriptorSetLayout",
        "vkCreatePipelineLayout": "vkDestroyPipelineLayout",
        "vkCreateComputePipelines": "vkDestroyPipeline",
    },
    "opencl": {"clCreateProgramWithSource": "clReleaseProgram", "clCreateKernel": "clReleaseKernel"},
    "cuda": {"cuModuleLoadDataEx": "cuModuleUnload"},
}


def unbalanced(log: list[str], pairs: dict[str, str], failed: str = "", kept: int = 0) -> dict[str, int]:
    """Return what was made and not unmade, by function; `failed` made nothing once, `kept` stay."""
    counts = Counter(log)
    left = {
        make: counts[make] - (1 if make == failed else 0) - counts[unmake] for make, unmake in pairs.items()
    }
    return {make: count for make, count in left.items() if count != kept}
