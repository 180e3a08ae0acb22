"""What a file carries and whether it fits: facts, descriptors, matching, the one refusal text.

Words: *accel* is what bytes were measured to carry (none, a set, or unknown); *requires* are facts that
must all hold; *declared* is what bytes cannot say. Reading files is :mod:`atoll.packaging`'s job.
"""

from atoll.artifact.values import Fact, Finding, Measured

__all__ = ["Fact", "Finding", "Measured"]
