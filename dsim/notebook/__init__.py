"""What a notebook sees of dsim: magics, and reports of kernels and tapes in three forms."""
