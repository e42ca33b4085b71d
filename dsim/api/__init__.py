"""What a program imports: decorators, fields, functions, types, options. Thin: the work is `runtime`'s."""
