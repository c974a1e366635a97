#!/usr/bin/env bash
# Builds the site: the tree's pages with search (MkDocs, Material), and the reference of the C interface
# (Doxygen) if it is installed. Any warning, such as a link that leads nowhere, fails.
#
# Usage: site.sh FOLDER     the site is FOLDER/html. MkDocs is installed, or in build/guards, where
# ./bootstrap test puts it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd) PYTHONPATH=$root/build/guards${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1 NO_MKDOCS_2_WARNING=1
python3 -c 'import material, mkdocs' 2>/dev/null || {
    echo "not run: there is no mkdocs-material; ./bootstrap test fetches it" >&2
    exit 77
}
rm -rf "$folder/pages" "$folder/html"
mkdir "$folder/pages"
cd "$root"

# copy_folder FOLDER: its files, and a list of them for browsers.
copy_folder() {
    find "$1" -type f ! -name '*.md' -exec cp --parents {} "$folder/pages" \;
    {
        echo "<!DOCTYPE html><meta charset=utf-8><title>$1</title><h1>$1</h1>"
        (cd "$1" && find . -type f ! -name '*.md' | sort | sed 's|^\./\(.*\)|<p><a href="\1">\1</a>|')
    } >"$folder/pages/$1/index.html"
}

# Pages and the files that they link to, as they lie in the tree.
cp --parents ./*.md docs/*.md docs/notebook/*.md "$folder/pages"
for page in ./*.md docs/*.md docs/notebook/*.md; do
    { grep -oE '(]\(|src(set)?=")(\.\./)?[A-Za-z0-9_./-]+' "$page" || true; } |
        sed -E 's/^(]\(|src(set)?=")//' | while read -r link; do
        file=$(realpath --relative-to=. -m "$(dirname "$page")/$link")
        [ ! -f "$file" ] || cp --parents "$file" "$folder/pages"
        [ ! -d "$file" ] || copy_folder "$file"
    done
done
cp packaging/mkdocs.yml "$folder/mkdocs.yml"
cp packaging/site.css "$folder/pages"
# In tables a number stays beside its unit, and beside what is said of it in brackets.
sed -i -E '/^\|/{s/([0-9]) (%|us|s|GB|KiB|MiB|GiB)( |,|\)|$)/\1\xc2\xa0\2\3/g;s/([0-9%]) \(([0-9])/\1\xc2\xa0(\2/g}' \
    "$folder"/pages/*.md "$folder"/pages/docs/*.md "$folder"/pages/docs/notebook/*.md
python3 -m mkdocs build --strict --config-file "$folder/mkdocs.yml" >"$folder/log" 2>&1 || {
    cat "$folder/log" >&2
    exit 1
}
# MkDocs checks links, but not pictures in elements of HTML.
find "$folder/html" -name '*.html' | while read -r page; do
    { grep -oE 'src(set)?="[^":]+[.]svg"' "$page" || true; } | cut -d '"' -f 2 | while read -r picture; do
        [ -f "$(dirname "$page")/$picture" ] || {
            echo "site.sh: $page shows $picture, which is not there" >&2
            exit 1
        }
    done
done
if command -v doxygen >/dev/null; then
    REDTUNE_VERSION=$(sed -n 's/^#define REDTUNE_VERSION "\(.*\)"/\1/p' include/redtune/redtune.h) \
        REDTUNE_ROOT=$root REDTUNE_OUT=$folder/html doxygen packaging/Doxyfile
fi
