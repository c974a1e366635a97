"""A Spack package: spack repo create FOLDER; copy this to packages/redtune/package.py where that made
repo.yaml, and add it by spack repo add; then spack dev-build redtune@main in redtune's folder, or
spack install redtune where a url is known."""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage  # Spack 1.0 and newer
except ImportError:
    pass  # older ones have it in spack.package


class Redtune(CMakePackage):
    """Autotuned reductions for NVIDIA GPUs."""

    version("main", branch="main")
    license("MIT")

    variant("static", default=False, description="Link Lua and SQLite into libredtune")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cuda@12:", type=("build", "run"))  # two headers; NVRTC is loaded at run time
    depends_on("lua@5.4")
    depends_on("sqlite@3.35:")

    conflicts("platform=darwin", msg="redtune runs on Linux")
    conflicts("platform=windows", msg="redtune runs on Linux")

    @property
    def build_targets(self):
        return ["redtune-installed"]

    def cmake_args(self):
        return [
            self.define("BUILD_TESTING", False),
            self.define("REDTUNE_CUDA_INCLUDE_DIR", self.spec["cuda"].prefix.include),
            self.define_from_variant("REDTUNE_STATIC_DEPS", "static"),
        ]

    def setup_run_environment(self, env):
        env.set("CUDA_PATH", self.spec["cuda"].prefix)
