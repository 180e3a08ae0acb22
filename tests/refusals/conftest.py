"""Fixtures of the refusals' tests."""

from unit.plugins.conftest import cuda_payload as cuda_payload
