"""Installs the package; what setup.cfg cannot say is which modules are compiled."""

import os
import sys
from importlib import import_module

from setuptools import setup

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts", "building"))

compiled = import_module("compiled")
setup(ext_modules=compiled.extensions(sys.argv[1:]), cmdclass={"build_ext": compiled.BuildExtensions})
