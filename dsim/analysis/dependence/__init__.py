"""Whether accesses of different iterations may touch one element, and which loops are independent for it.

It imports the effects of a kernel and affine forms. Begin with `dependence_test.py`.
"""
