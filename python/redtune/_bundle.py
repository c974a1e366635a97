"""Bundle: the files of the package beside its Python, and NVRTC as NVIDIA's wheels have it."""

import os

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundle")


def command():
    """The path of the redtune command."""
    return os.path.join(_FOLDER, "redtune")


def simulator():
    """The path of the simulated GPU's driver, for REDTUNE_CUDA_DRIVER."""
    return os.path.join(_FOLDER, "libredtune-sim.so")


def _from_pathfinder():
    """What cuda.pathfinder finds, where that package is installed; else None."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib
    except ImportError:
        return None
    try:
        return load_nvidia_dynamic_lib("nvrtc").abs_path
    except Exception:  # it has an exception of its own for what is not there
        return None


def _from_wheels():
    """NVRTC in the site-packages that this package lies in, the newest; else None."""
    import glob  # which takes longer to import than all of redtune

    packages = os.path.dirname(os.path.dirname(_FOLDER))
    found = glob.glob(os.path.join(glob.escape(packages), "nvidia", "*", "lib", "libnvrtc.so.*"))
    return max(found, key=lambda path: path.rsplit(".so.", 1)[1], default=None)


def find_nvrtc():
    """Names NVRTC's file in REDTUNE_NVRTC, unless that is set or NVRTC is where libredtune looks.

    Processes that redtune starts inherit it.
    """
    path = None if os.environ.get("REDTUNE_NVRTC") else _from_wheels() or _from_pathfinder()
    if path:
        os.environ["REDTUNE_NVRTC"] = path


def environment():
    """The environment of the command."""
    find_nvrtc()
    return dict(os.environ)
