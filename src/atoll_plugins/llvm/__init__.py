"""LLVM: KIR as LLVM IR, and LLVM itself through llvmlite (the extra `atoll[llvm]`)."""
