# Makes the headers' comments what Doxygen reads: the first one is the file's, one that begins a line is
# of what follows, and one behind code is of that code. Lines that part sections name groups.
#
# Doxygen takes # for a link, and \ and @ for commands; in the headers they are none.
function escaped(text) {
    gsub(/[#@\\]/, "\\\\&", text)
    gsub(/</, "\\<", text)
    gsub(/>/, "\\>", text)
    return text
}

{ at = index($0, "/*") }
inside { inside = index($0, "*/") == 0; print escaped($0); next }
!at || /^#/ { print; next }
/^\/\* ----/ { print ""; next }
{
    code = substr($0, 1, at - 1)
    text = escaped(substr($0, at + 2))
    inside = index(text, "*/") == 0
    mark = first++ ? code ~ /[^ ]/ ? "/**<" : "/**" : "/** \\file\n *"
    print code mark text
}
