"""The commands of `dsim`: running notebooks, their HTML pages, JupyterLab, and checks of the installation.

Each file is one subject, independent of the command line; `dsim.cli` parses the arguments and calls them.
"""
