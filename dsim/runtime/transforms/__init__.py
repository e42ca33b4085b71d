"""Derivatives as objects: Jacobians as linear operators, gradients as functions, objectives for optimisers.

It imports all below. Begin with `run_recording.py` and `recorded_run.py`, by which a run is
recorded once and differentiated often; `selection.py` has inputs and outputs as users give and get them.
"""
