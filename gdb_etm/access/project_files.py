"""pyOCD's project files in the working directory: they are used only when the user names them.

pyOCD runs ``pyocd_user.py``, and ``pyocd.yaml`` may name Python code to run as well; a working directory may be
somebody else's.  Ref: pyOCD documentation, "Configuration", "User scripts", options ``no_config`` and ``project_dir``.
"""

from __future__ import annotations

import logging
import os
from typing import Any, Dict, Mapping, Tuple

_CONFIG = ("pyocd.yaml", "pyocd.yml", ".pyocd.yaml", ".pyocd.yml")
_SCRIPTS = ("pyocd_user.py", ".pyocd_user.py")
_UNUSED = '%s in the working directory is not used; "--option %s=%s" (of gdb-etm serve: -O) uses it'


def without_found_files(settings: Mapping[str, Any]) -> Dict[str, Any]:
    """Give session options with which pyOCD looks for no file by itself; a file that is there is warned of.

    :param settings: What the user asked for; files that it names are used, and a ``project_dir`` with all in it.
    """
    chosen = dict(settings)
    if "project_dir" in chosen or os.environ.get("PYOCD_PROJECT_DIR"):
        return chosen
    if "config_file" not in chosen:
        chosen["no_config"] = True
        _warn(_CONFIG, "config_file")
    if "user_script" not in chosen:
        chosen["user_script"] = os.devnull
        _warn(_SCRIPTS, "user_script")
    return chosen


def _warn(names: Tuple[str, ...], option: str) -> None:
    for name in names:
        if os.path.lexists(name):
            logging.getLogger(__name__).warning(_UNUSED, name, option, name)
