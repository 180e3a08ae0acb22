"""What a file carries and whether it fits: facts, descriptors, matching, the one refusal text.

Words: *accel* is what bytes were measured to carry (none, a set, or unknown); *requires* are facts that
must all hold; *declared* is what bytes cannot say. Reading files is :mod:`atoll.packaging`'s job.
"""

from atoll.artifact.abi import Abi
from atoll.artifact.descriptor import Descriptor, Index, read_index
from atoll.artifact.match import BuildRequest, Choice, DeviceRequest, Verdict, choose, fit, refusal, unmet
from atoll.artifact.refusal import Subject, compose, side
from atoll.artifact.values import Fact, Finding, Measured

__all__ = [
    "Abi",
    "BuildRequest",
    "Choice",
    "Descriptor",
    "DeviceRequest",
    "Fact",
    "Finding",
    "Index",
    "Measured",
    "Subject",
    "Verdict",
    "choose",
    "compose",
    "fit",
    "read_index",
    "refusal",
    "side",
    "unmet",
]
