"""Files as a script names them."""

from __future__ import annotations

import os
from typing import Sequence, Tuple, Union

# One file's path, or several.
Files = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]


def paths(files: Files) -> Tuple[str, ...]:
    """List paths; ``~`` stands for the user's folder, as in commands."""
    several = [files] if isinstance(files, (str, os.PathLike)) else files
    return tuple(os.path.expanduser(os.fspath(one)) for one in several)
