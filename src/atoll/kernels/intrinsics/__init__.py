"""How does one name mean an instruction that each platform spells differently?

An *interface* names it, *implementations* are bound to a platform (and a floor of its architectures), and
the target that is compiled for decides (docs/how-to/write-an-intrinsic.md, docs/reference/intrinsics.md).
"""
