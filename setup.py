"""Installs the package; what setup.cfg cannot say is which modules are compiled."""

import os
import sys

from setuptools import setup

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts"))

from compiled import BuildExtensions, extensions  # noqa: E402

setup(ext_modules=extensions(sys.argv[1:]), cmdclass={"build_ext": BuildExtensions})
