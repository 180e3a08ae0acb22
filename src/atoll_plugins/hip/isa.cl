/* What device libraries of one processor say: which instructions it has (ROCm-Device-Libs, oclc.h). */
const __constant int __oclc_ISA_version = ISA;
