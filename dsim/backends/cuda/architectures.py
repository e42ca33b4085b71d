"""The architectures that PTX is made for, each with the version of PTX that its text is written in.

A driver compiles PTX for the device that it has, which may be newer than the text's architecture: text for
the oldest one runs on all. The version is the lowest that has the architecture, so that old drivers take it.
"""

from __future__ import annotations

from dsim.diagnostics import ArgumentError, Diagnostic

VERSIONS = {
    "sm_75": "6.3",
    "sm_80": "7.0",
    "sm_86": "7.1",
    "sm_89": "7.8",
    "sm_90": "7.8",
    "sm_100": "8.6",
    "sm_120": "8.7",
}
OLDEST = "sm_75"


def features(architecture: str) -> str:
    """LLVM's features of an architecture.

    Raises
    ------
    ArgumentError
        When `architecture` is none of `VERSIONS`.

    Examples
    --------
    >>> features("sm_90")
    '+ptx78'
    """
    if architecture not in VERSIONS:
        message = f"there is no PTX for `{architecture}`"
        raise ArgumentError(Diagnostic("argument", message, help=f"choose one of {', '.join(VERSIONS)}"))
    return f"+ptx{VERSIONS[architecture].replace('.', '')}"
