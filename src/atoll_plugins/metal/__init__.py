"""Metal: shaders for Apple's GPUs, compiled by Xcode. Plan tested: the compiler runs on macOS alone."""
