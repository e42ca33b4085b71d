"""The public interface: decorators, fields, functions, types, options. Thin: `runtime` does the work.

It imports all below, and nothing of notebooks or views. Begin with `kernels.py` and `fields.py`;
`dsim/__init__.py` says what of it is public.
"""
