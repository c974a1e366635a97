"""Guard: every tracked file is named by another one: a target, a test, a script, an include or a page.

A file that nothing names is not built, not run and not read: it was left behind. The product's files
are named with their folder, or from beside them; others by their name alone, and sources by their
stem in a list of a CMake file or a script, which puts the ending behind it.
"""
import pathlib
import re
import subprocess
import sys

# What git, an editor or a service reads by the file's name alone.
KNOWN = {".clang-format", ".clang-tidy", ".gitignore", ".gitattributes", ".editorconfig", "CMakeLists.txt",
         "CMakePresets.json", "LICENSE", "README.md", ".codespellrc", "REUSE.toml", "SECURITY.md"}
# What is taken whole: by reuse, cmake/layers.cmake, git's host, python/pyproject.toml and unittest.
WHOLE = ("LICENSES/", "templates/", ".github/", "python/redtune/", "python/tests/test_")
SOURCES = {".c", ".cu", ".sh", ".cmake", ".py"}
PRODUCT = {"src", "tuner", "cache", "include", "bench", "sim"}


def stems(path):
    stem = path.name.split(".")[0]
    return {stem, stem.removeprefix("test_"), stem.removeprefix("test-")}


def main():
    root = pathlib.Path(sys.argv[1])
    if not (root / ".git").exists():
        sys.exit(77)  # no checkout, so nothing is tracked
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True)
    paths = [pathlib.PurePath(name) for name in listed.stdout.decode().split("\0") if name]
    words = {}
    for path in paths:
        try:
            text = (root / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        words[path] = set(re.findall(r"[\w./+-]*\w", text))
    holders = {}
    for path, found in words.items():
        for word in found:
            word = re.sub(r"^(\.\.?/)+", "", word)
            holders.setdefault(word.rsplit("/", 1)[-1], []).append((path, word))
    orphans = []
    for path in paths:
        if path.name in KNOWN or str(path).startswith(WHOLE):
            continue
        by_name = [(by, word) for by, word in holders.get(path.name, []) if by != path]
        if path.parts[0] in PRODUCT:
            named = any(by.parent == path.parent or ("/" in word and f"/{path}".endswith(f"/{word}"))
                        for by, word in by_name)
        else:
            # A list in a CMake file, in a script beside it, or an import there, has the stem alone.
            named = by_name or path.suffix in SOURCES and any(
                by != path and (by.name == "CMakeLists.txt" or by.suffix == ".cmake"
                                or by.parent == path.parent and by.suffix in (".sh", ".py"))
                for stem in stems(path) for by, _ in holders.get(stem, []))
        if not named:
            orphans.append(str(path))
    if orphans:
        sys.exit("files that no target, test or document names; use or remove them:\n  "
                 + "\n  ".join(orphans))
    print(f"{len(paths)} files are named")


main()
