"""The tape as people use it, gradients of their own, and the check of a gradient.

It imports all below, and knows no kernels of people's. Begin with `tape.py`.
"""
