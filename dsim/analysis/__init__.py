"""Analyses: facts about kernels (accesses, dependences, activity), never rewrites.

They import the IR and diagnostics, and nothing that rewrites. Begin with `effects.py`, which most others use,
then `access_rules.py` and `dependence`.
"""
