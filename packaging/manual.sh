#!/bin/sh
# Makes the manual pages redtune(1) and redtune(3) and bash's completion: of the command from what it
# prints as help, which it prints from its own table of options; of the library from its headers.
#
# usage: manual.sh COMMAND VERSION FOLDER HEADER...   redtune.h first
set -eu
command=$1 version=$2 folder=$3
shift 3
header=$1
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

# The long options of the command whose help is on stdin.
options() { sed -n 's/^ *\(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p' | tr '\n' ' '; }

completion() {
    echo '# Completion of redtune in bash, made from its help.'
    echo '_redtune() {'
    echo '    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list='
    echo '    case $before in'
    echo "    --op) list='$(listed op)' ;;"
    echo "    --dtype) list='$(listed dtype)' ;;"
    echo "    --device) list='0 1 2 3 sim' ;;"
    echo '    --db | --output | -o) compopt -o default; COMPREPLY=(); return ;;'
    echo '    esac'
    echo '    if [ -z "$list" ]; then'
    echo '        case ${COMP_WORDS[1]} in'
    for name in $(names); do
        echo "        $name) list='$("$command" "$name" --help | options)' ;;"
    done
    echo "        -*) list='$("$command" --help | options)' ;;"
    echo '        esac'
    echo '    fi'
    echo '    if [ "$COMP_CWORD" = 1 ]; then'
    echo "        list=\"$(names | tr '\n' ' ')$("$command" --help | options)\""
    echo '    fi'
    echo '    COMPREPLY=($(compgen -W "$list" -- "$word"))'
    echo '    [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default'
    echo '}'
    echo 'complete -F _redtune redtune'
}

# The names of ops or dtypes, as the header's enumerators have them.
listed() {
    awk -v kind="$1" '
        $0 ~ "^typedef enum redtune_" kind " " { inside = 1; next }
        inside && /^}/ { exit }
        inside && match($0, /REDTUNE_[A-Z0-9_]+/) {
            name = tolower(substr($0, RSTART + 8, RLENGTH - 8))
            if (name !~ /none/) printf "%s ", name
        }' "$header"
}

page >"$folder/redtune.1"
awk -v version="$version" -f "$here/redtune.3.awk" "$@" >"$folder/redtune.3"
completion >"$folder/redtune.bash"
