"""The processor as a device: C emitter and driver."""
