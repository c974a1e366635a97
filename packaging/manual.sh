#!/bin/sh
# Makes the manual pages redtune(1) and redtune(3) and the completion of bash, zsh and fish: of the command
# from what it prints as help, which it prints from its own table of options; of the library from its
# headers.
#
# usage: manual.sh COMMAND VERSION FOLDER HEADER...   redtune.h first
set -eu
command=$1 version=$2 folder=$3
shift 3
here=$(dirname "$0")
mkdir -p "$folder"

# The commands' names, as the help lists them.
names() { "$command" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

page() {
    "$command" --help | awk -v part=front -v version="$version" -f "$here/redtune.1.awk"
    for name in $(names); do
        "$command" "$name" --help | awk -v part=command -f "$here/redtune.1.awk"
    done
    cat "$here/redtune.1.tail"
}

# Every command's help, with its name and what it does above it.
helps() {
    "$command" --help | awk '/^Commands:/ { inside = 1; next } inside && /^$/ { exit }
        inside && match(substr($0, 3), /  +/) { print $1, substr($0, 3 + RSTART + RLENGTH - 1) }' |
        while read -r name about; do
            printf '@command %s %s\n' "$name" "$about"
            "$command" "$name" --help
        done
}

# The names in the first column of what the command lists, without the heading.
ops() { "$command" show ops | awk 'NR > 1 && /^[a-z]/ { print $1 }' | tr '\n' ' '; }

# completion SHELL HEADER...
completion() {
    shell=$1
    shift
    helps | awk -v shell="$shell" -v ops="$(ops)" -v dtypes="$(dtypes "$@")" \
        -v families="$(families)" -f "$here/completion.awk"
}

# The templates that are tuned.
families() { sed 's/--.*//' "$here/../templates/registry.lua" | grep -o '[a-z_]*"' | tr '"\n' '  '; }

# The dtypes, as the headers' enumerators have them.
dtypes() {
    sed -n '/^typedef enum redtune_dtype /,/^}/s/^ *REDTUNE_\([A-Z][A-Z]*[0-9]\{1,2\}\(M[0-9]\)\{0,1\}\)\>.*/\1/p' "$@" |
        tr '[:upper:]\n' '[:lower:] '
}

page >"$folder/redtune.1"
awk -v version="$version" -f "$here/redtune.3.awk" "$@" >"$folder/redtune.3"
for shell in bash zsh fish; do completion "$shell" "$@" >"$folder/redtune.$shell"; done
