"""What runs kernels: `cpu`, which compiles the text that `llvm` writes, and `reference`, readable Python."""
