"""The public interface: decorators, fields, functions, types, options. Thin: `runtime` does the work."""
