"""The cases for JAX are a program for the environment of the peers, where JAX is."""

collect_ignore = ["jax_cases.py"]
