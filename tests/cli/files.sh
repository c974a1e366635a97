# Files: .npy files and raw ones for the command's tests.

# little_endian BYTES NUMBER: the number's bytes, the lowest first.
little_endian() {
    local i
    for ((i = 0; i < $1; i++)); do
        printf "\\x$(printf %02x $(($2 >> 8 * i & 255)))"
    done
}

# integers BYTES COUNT: 0, 1, 2, ...
integers() {
    local i
    for ((i = 0; i < $2; i++)); do little_endian "$1" $i; done
}

# npy DESCR SHAPE [VERSION [ORDER]]: the header; the elements are the caller's to add.
npy() {
    local version=${3:-1} header="{'descr': $1, 'fortran_order': ${4:-False}, 'shape': $2, }"
    printf '\x93NUMPY'
    little_endian 1 "$version"
    little_endian 1 0
    little_endian $((version == 1 ? 2 : 4)) $((${#header} + 1))
    printf '%s\n' "$header"
}
