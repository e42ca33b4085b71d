"""Builds the JupyterLab extension while dsim is being installed; says what to do when npm cannot.

hatch-jupyter-builder calls `build`, as `pyproject.toml` asks it to.
"""

import subprocess

from hatch_jupyter_builder.utils import npm_builder

_ADVICE = """\
dsim: the JupyterLab extension could not be built: {reason}

npm's own message is above. It fetches the parts of the extension from its registry. Where that fails, see
  - the network, and a proxy:            npm config set https-proxy http://HOST:PORT
  - certificates of an organisation:     export NODE_EXTRA_CA_CERTS=/path/to/certificates.pem
  - a registry of an organisation:       npm config set registry ADDRESS
and run the same command again. dsim works without the extension too (a report is then shown below its cell):
  - put SKIP_JUPYTER_BUILDER=1 in front of the command"""


def build(target_name: str, version: str, **arguments: object) -> None:
    """Runs npm in this folder; the arguments are those of hatch-jupyter-builder's own builder.

    Raises
    ------
    SystemExit
        When npm is missing or fails. pip shows its text, and no traceback.
    """
    try:
        npm_builder(target_name, version, **arguments)
    except subprocess.CalledProcessError as error:
        command = " ".join(["npm", *map(str, error.cmd[1:])])
        raise SystemExit(
            _ADVICE.format(reason=f"`{command}` failed, with exit status {error.returncode}")
        ) from None
    except (ValueError, OSError) as error:
        raise SystemExit(_ADVICE.format(reason=str(error))) from None
