"""SYCL: emitter."""
