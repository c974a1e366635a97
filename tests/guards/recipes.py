"""Guard: the recipes of packagers and the workflows name what the tree has: recipes.py ROOT

Their version is the headers', each option that they set is one that the build reads, each target is
built, and each program that a workflow runs is there. Nothing else here runs them: they need other
machines.
"""
import glob
import os
import re
import sys

root = sys.argv[1]
RECIPES = ["packaging/conda/recipe.yaml", "packaging/spack/package.py"]
BUILD = ["CMakeLists.txt", "CMakePresets.json", "bootstrap", "cmake/*.cmake", "sim/CMakeLists.txt"]


def read(name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


workflows = [os.path.relpath(path, root) for path in glob.glob(root + "/.github/workflows/*.yml")]
build = "".join(read(os.path.relpath(path, root)) for each in BUILD for path in glob.glob(f"{root}/{each}"))
version = re.search(r'#define REDTUNE_VERSION "(.*)"', read("include/redtune/redtune.h")).group(1)
faults = []
if not workflows:
    faults.append("there is no workflow")
for name in RECIPES + workflows:
    text = read(name)
    for option in set(re.findall(r"\bREDTUNE_[A-Z_]+\b|\bBUILD_TESTING\b", text)):
        if not re.search(rf"\b{option}\b", build):
            faults.append(f"{name} sets {option}, which the build does not read")
    for target in re.findall(r'--target ([\w-]+)|build_targets(?s:.*?)\["([\w-]+)"\]', text):
        target = "".join(target)
        if f"add_custom_target({target}" not in build:
            faults.append(f"{name} builds {target}, which is no target")
    for program in re.findall(r"run: (\.?[./]\S+)", text):
        if not os.access(os.path.join(root, program), os.X_OK):
            faults.append(f"{name} runs {program}, which is no program")
for stated in re.findall(r'^  version: "(.*)"$', read(RECIPES[0]), flags=re.M):
    if stated != version:
        faults.append(f"{RECIPES[0]} has version {stated}, the headers {version}")
if not any(re.search(r"run: \.ci/run$", read(name), flags=re.M) for name in workflows):
    faults.append("no workflow runs .ci/run")
sys.exit("\n".join(faults) or 0)
