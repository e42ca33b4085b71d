"""Derivatives as objects: Jacobians as linear operators, gradients as functions, objectives for optimisers.

It imports all below. Begin with `recorded_run.py`, which records a run once and differentiates it often;
`selection.py` has inputs and outputs as users give and get them.
"""
