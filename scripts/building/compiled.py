"""Which modules are compiled, and by what: the build backend, and what setup.py asks.

mypyc makes C extensions of typed Python, and they are installed beside the .py files that they were made of: an
interpreter that a binary is not for, such as another one inside GDB, takes the .py file, because the binary's name says
what it is for.  Without a C compiler, Python's headers or mypyc the package is installed without them.

The environment variable GDB_ETM_COMPILE decides otherwise: with 0 nothing is compiled, with 1 it must be.
GDB_ETM_OPTIMISE is the level of optimisation, 0 to 3.
"""

import glob
import os
import shutil
import sys
import tempfile

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F401,F403
from setuptools.command.build_ext import build_ext

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# An older one than 1.18, as on Python 3.8, compiles nothing, and the package stays pure.
_MYPYC = "mypy[mypyc]>=1.14,<3"
# The commands of setup.py that compile.
_BUILDING = {"bdist_wheel", "build", "build_ext", "install"}

# Folders of gdb_etm whose files are compiled: that is where the time of decoding and of recovery goes.
_FOLDERS = (
    "protocols",
    "protocols/mtb",
    "protocols/armv7",
    "protocols/etmv3",
    "protocols/etmv4",
    "protocols/etmv4/data",
    "protocols/ptm",
    "program",
    "recovery",
    "recovery/constraints",
    "recovery/execution",
    "recovery/functions",
    "recovery/lift",
    "recovery/memory",
    "recovery/pointers",
    "recovery/solve",
    "recovery/ssa",
    "recovery/threads",
)
# Files there that are not, and why.  What a class derives from is compiled with it or not at all.
_LEFT_OUT = {
    # Nothing is in them that takes time.
    "protocols/registry.py": "imports a protocol by its name when it is asked for",
    "protocols/etmv3/config.py": "read once from registers",
    "protocols/etmv4/config.py": "read once from registers",
    "protocols/mtb/config.py": "read once from registers",
    "protocols/ptm/config.py": "read once from registers",
    # mypyc does not take a function within a method of a named tuple.
    "recovery/solve/doubts.py": "looked at for each doubt, not for each value",
    # A binary takes longer to load than it saves: their time goes into pyelftools.
    "program/code_entries.py": "reads ELF files",
    "program/code_pieces.py": "reads ELF files",
    "program/containers.py": "reads debugging information",
    "program/conventions.py": "reads debugging information",
    "program/data_symbols.py": "reads ELF files",
    "program/datatypes.py": "reads debugging information",
    "program/debug_sections.py": "reads debugging information",
    "program/dies.py": "reads debugging information",
    "program/elf.py": "reads ELF files",
    "program/expressions.py": "reads debugging information",
    "program/frame_variables.py": "reads debugging information",
    "program/line_programs.py": "reads debugging information",
    "program/loaded.py": "reads ELF files",
    "program/objects.py": "reads debugging information",
    "program/spelling.py": "reads debugging information",
    "program/stack_changes.py": "looks at each function once",
    "program/variables.py": "reads debugging information",
}


def sources():
    """List the files that are compiled, from the root of the sources."""
    found = []
    for folder in _FOLDERS:
        for path in sorted(glob.glob(os.path.join(_ROOT, "gdb_etm", folder, "*.py"))):
            name = "%s/%s" % (folder, os.path.basename(path))
            if not name.endswith("/__init__.py") and name not in _LEFT_OUT:
                found.append("gdb_etm/" + name)
    return found


def _wanted():
    return os.environ.get("GDB_ETM_COMPILE", "")


def _say(reason):
    # Ends the build where compiling was asked for.
    if _wanted() == "1":
        sys.exit("gdb_etm: cannot be compiled: %s" % reason)
    print("gdb_etm: stays pure Python, which decodes at half the speed: %s" % reason, file=sys.stderr)


def _obstacle():
    # Why nothing can be compiled here; None where it can.
    if sys.implementation.name != "cpython":
        return "mypyc is for CPython"
    try:
        from setuptools._distutils.ccompiler import new_compiler
        from setuptools._distutils.sysconfig import customize_compiler, get_python_inc
    except ImportError:
        from distutils.ccompiler import new_compiler
        from distutils.sysconfig import customize_compiler, get_python_inc

    folder = tempfile.mkdtemp()
    try:
        path = os.path.join(folder, "probe.c")
        with open(path, "w", encoding="ascii") as file:
            file.write("#include <Python.h>\n")
        compiler = new_compiler()
        customize_compiler(compiler)
        compiler.compile([path], output_dir=folder, include_dirs=[get_python_inc()])
    except Exception as error:
        return "no C compiler with Python's headers here (%s)" % str(error).splitlines()[0]
    finally:
        shutil.rmtree(folder)
    return None


def extensions(commands):
    """Make the extension modules for setup.py, none where they cannot be.

    :param commands: Its arguments.
    """
    if _wanted() == "0" or not _BUILDING.intersection(commands):
        return []
    obstacle = _obstacle()
    if obstacle is None:
        try:
            from mypyc.build import mypycify

            level = os.environ.get("GDB_ETM_OPTIMISE", "2")
            # That types are right is checked elsewhere; libraries that are used may be absent here.
            options = ["--config-file=", "--ignore-missing-imports", "--cache-dir=build/mypy-cache", *sources()]
            return mypycify(options, opt_level=level, debug_level="0", multi_file=True, group_name="gdb_etm")
        except ImportError:
            obstacle = "no mypyc (PyPI: mypy)"
        except TypeError:
            obstacle = "mypyc is too old (before mypy 1.18): it cannot name what it makes"
        except SystemExit:
            obstacle = "mypyc refuses the sources"
    _say(obstacle)
    return []


class BuildExtensions(build_ext):
    """Builds all extension modules, or leaves them all out."""

    def run(self):
        """Compile; where the compiler fails nothing of it is installed."""
        try:
            super().run()
        except Exception as error:
            # Of a command that failed its output is above, and its arguments fill a page.
            command = getattr(error, "cmd", None)
            _say("%s fails" % command[0] if command else str(error).splitlines()[0])
            for path in map(self.get_ext_fullpath, [one.name for one in self.extensions]):
                if os.path.exists(path):
                    os.remove(path)
            self.extensions.clear()  # the distribution's list


def get_requires_for_build_wheel(config_settings=None):
    """List what building a wheel needs: mypyc where it can compile."""
    compiling = _wanted() == "1" or _wanted() != "0" and _obstacle() is None
    return build_meta.get_requires_for_build_wheel(config_settings) + ([_MYPYC] if compiling else [])
