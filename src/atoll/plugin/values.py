"""How does a plugin make a class of values that costs nothing to import? What the engine uses, made public.

A drop-in for the four names of `dataclasses`: docs/decisions/0154.
"""

from __future__ import annotations

from atoll._util.values import dataclass as dataclass
from atoll._util.values import field as field
from atoll._util.values import fields as fields
from atoll._util.values import replace as replace
