# Makes redtune(3) from the public headers: a section of a header is a section of the page, its comments are
# the text, its declarations stand as they are.

function quote(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/) text = "\\&" text
    return text
}

function leave_code() {
    if (in_code) print ".fi"
    in_code = 0
}

function code(line) {
    if (!in_code) print ".PP\n.nf"
    in_code = 1
    gsub(/REDTUNE_API /, "", line)
    print quote(line)
}

# A line of a comment that stands alone.
function text(line) {
    leave_code()
    sub(/ *\*\/ *$/, "", line)
    sub(/^ *\/?\*+ ?/, "", line)
    if (line ~ /^ *$/) print ".PP"
    else if (line ~ /^- /) print ".IP \\(bu 2\n" quote(substr(line, 3))
    else { sub(/^ +/, "", line); print quote(line) }
}

BEGIN {
    print ".TH REDTUNE 3 \"\" \"redtune " version "\" \"Library Functions\""
    print ".SH NAME\nredtune \\- tuned reductions for NVIDIA GPUs"
    print ".SH SYNOPSIS\n.nf\n.B #include <redtune/redtune.h>\n.B #include <redtune/list.h>\n.B #include <redtune/keys.h>\n.B #include <redtune/team.h>\n.B #include <redtune/tune.h>\n.B #include <redtune/records.h>\n.B #include <redtune/tools.h>\n.PP\nLink with \\-lredtune.\n.fi"
    print ".SH DESCRIPTION"
}

/^\/\* ---- / {
    leave_code()
    sub(/^\/\* -+ /, ""); sub(/ -+ \*\/$/, "")
    print ".SH \"" toupper($0) "\""
    next
}
/^#/ || /^extern "C"/ { next }
/^\/\*/ && !in_comment { if (NR > 1) { leave_code(); print ".PP" } in_comment = 1 }
in_comment { text($0); if (/\*\//) in_comment = 0; next }
/^}$/ { next }
/^$/ { leave_code(); next }
{ code($0) }

END {
    leave_code()
    print ".SH \"SEE ALSO\"\n.BR redtune (1)"
}
