"""Runs a module of this package in a Python that was started with -I: python -I isolated.py MODULE WORDS.

Such a Python searches neither in the current folder nor in PYTHONPATH. This package, and what it needs, may be there and not in
the folders of Python: they are added behind these, so that nothing replaces a module of the standard library.
"""

import os
import runpy
import site
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def _main() -> None:
    package = Path(__file__).absolute().parents[1]
    own = site.getusersitepackages() if sys.prefix == sys.base_prefix else ""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path += [f for f in (str(package.parent), own, *named) if f not in sys.path and _is_other_folder(f)]
    spec = spec_from_file_location(package.name, package / "__init__.py", submodule_search_locations=[str(package)])
    assert spec
    assert spec.loader
    sys.modules[package.name] = module_from_spec(spec)  # this copy, even if Python has another one installed
    spec.loader.exec_module(sys.modules[package.name])
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _is_other_folder(folder: str) -> bool:
    try:
        return os.path.isabs(folder) and not os.path.samefile(folder, ".")
    except OSError:
        return False


if __name__ == "__main__":
    _main()
