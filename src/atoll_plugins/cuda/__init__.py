"""NVIDIA CUDA: lane, PTX emitter, driver, probe and fat-binary reader."""
