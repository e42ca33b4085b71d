"""What the command `dsim` is made of: running notebooks, their pages, JupyterLab, and a look at the machine.

Each file is one subject and knows nothing of the command line; `dsim.cli` reads the arguments and calls them.
"""
