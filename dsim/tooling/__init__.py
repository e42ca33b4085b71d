"""The commands of `dsim`: running notebooks, their HTML pages, JupyterLab, and checks of the installation.

Each file is one subject, independent of the command line, and imports what it needs of all below. Begin with
`dsim/cli.py`, which parses the arguments and calls them, then `run.py`.
"""
