# Makes parts of redtune(1) from the command's help: part=front of `redtune --help`, part=command of
# `redtune COMMAND --help`.

function quote(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^[.']/, "\\\\\\&&", text)
    return text
}

# Prints a line of a table, "  words   what they mean", as a tagged paragraph.
function item(line,    at) {
    sub(/^ +/, "", line)
    at = match(line, /   *[^ ]/)
    if (!at) { print quote(line); return }
    print ".TP\n.B " quote(substr(line, 1, at - 1)) "\n" quote(substr(line, at + RLENGTH - 1))
}

part == "front" && NR == 1 {
    print ".TH REDTUNE 1 \"\" \"redtune " version "\" \"User Commands\""
    print ".SH NAME\nredtune \\- tuned reductions for NVIDIA GPUs"
    print ".SH SYNOPSIS\n.B redtune\n[\\fICOMMAND\\fR] [\\fIOPTION\\fR...]"
    print ".SH DESCRIPTION\n" quote($0)
    next
}
part == "front" && /^Usage:/ { next }
part == "front" && /^Commands:/ { print ".SH COMMANDS"; next }
part == "front" && /^redtune alone/ { print ".PP\n" quote($0); next }
part == "front" && /^The options of another/ { exit }
part == "command" && NR == 1 { title = $2; sub(/:$/, "", title); sub(/^[^:]*: /, ""); first = $0; next }
part == "command" && /^Usage:/ {
    if (title == "tune") print ".SH \"OPTIONS BY COMMAND\""
    sub(/^Usage: /, "")
    print ".SS " quote($0) "\n" quote(toupper(substr(first, 1, 1)) substr(first, 2))
    next
}
part == "command" && /^Options:/ { next }
/^  / { item($0); next }
/^$/ { print ".PP"; next }
{ print quote($0) }
