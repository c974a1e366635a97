"""Bundle: the files of the package beside its Python, and NVRTC as NVIDIA's wheels have it."""

import os
import sys

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundle")


def command():
    """The path of the redtune command."""
    return os.path.join(_FOLDER, "redtune")


def simulator():
    """The path of the simulated GPU's driver, for REDTUNE_CUDA_DRIVER."""
    return os.path.join(_FOLDER, "libredtune-sim.so")


def _from_pathfinder():
    """What cuda.pathfinder finds, where that package is installed; else None.

    It loads NVRTC, too: 50 ms and more of a process whose kernels are in the cache.
    """
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib
    except ImportError:
        return None
    try:
        return load_nvidia_dynamic_lib("nvrtc").abs_path
    except Exception:  # it has an exception of its own for what is not there
        return None


def _files(folder):
    try:
        return [entry.path for entry in os.scandir(folder)]
    except OSError:
        return []


def _nvrtc_in(folders):
    """The newest of NVRTC's files in the folders; else None. (glob takes long to import.)"""
    found = [path for folder in folders for path in _files(folder)]
    found = [path for path in found if os.path.basename(path).startswith("libnvrtc.so.")]
    return max(found, key=lambda path: path.rsplit(".so.", 1)[1], default=None)


def _from_wheels():
    """NVRTC beside this package, or else in the first other folder of packages that has it."""
    for packages in (os.path.dirname(os.path.dirname(_FOLDER)), *filter(os.path.isabs, sys.path)):
        its = _files(os.path.join(packages, "nvidia"))
        path = _nvrtc_in(os.path.join(folder, "lib") for folder in its)
        if path:
            return path
    return None


def _is_in_toolkit():
    """Whether libredtune finds NVRTC in a CUDA Toolkit."""
    roots = os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"
    folders = [os.path.join(root, name) for root in roots if root for name in ("lib64", "lib")]
    return _nvrtc_in(folders) is not None


def find_nvrtc():
    """Names NVRTC's file in REDTUNE_NVRTC, unless that is set or NVRTC is where libredtune looks.

    Processes that redtune starts inherit it.
    """
    if os.environ.get("REDTUNE_NVRTC"):
        return
    path = _from_wheels()
    if not path and not _is_in_toolkit():
        path = _from_pathfinder()
    if path:
        os.environ["REDTUNE_NVRTC"] = path


def environment():
    """The environment of the command."""
    find_nvrtc()
    return dict(os.environ)
