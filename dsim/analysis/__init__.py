"""Analyses: facts about kernels (accesses, dependences, activity), never rewrites."""
