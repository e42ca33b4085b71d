"""The public tape, custom backward functions, and the check of a gradient.

It imports all below, except the user's kernels. Begin with `tape.py`.
"""
