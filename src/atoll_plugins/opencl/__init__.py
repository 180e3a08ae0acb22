"""OpenCL: lane, OpenCL C emitter, driver and reader."""
