"""Vulkan: driver and C launcher."""
