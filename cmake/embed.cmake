# Writes ${out}: a C file with every file below ${root}, sorted by its path, and the hash of the C
# sources that lie in the folders ${code}, separated by "|".
# Hidden files and editors' backups are left out.
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE paths LIST_DIRECTORIES false RELATIVE ${root} ${root}/*)
list(FILTER paths EXCLUDE REGEX "(^|/)\\.|~$")
list(SORT paths)

# A line of C holds 24 bytes, each four characters: \xHH.
string(REPEAT "." 96 line)

set(text "/* The files below templates/. Made by cmake/embed.cmake: changes here are lost. */\n")
string(APPEND text "#include \"codegen/source.h\"\n\n")
string(APPEND text "const struct rdt_template_file rdt_template_files[] = {\n")
foreach(path IN LISTS paths)
    file(SIZE ${root}/${path} bytes)
    file(SHA256 ${root}/${path} hash)
    file(READ ${root}/${path} hex HEX)
    string(REGEX REPLACE "(..)" "\\\\x\\1" data "${hex}")
    string(REGEX REPLACE "(${line})" "\\1\"\n     \"" data "${data}")
    string(APPEND text "    {\"${path}\",\n     \"${data}\",\n     ${bytes}, \"${hash}\"},\n")
endforeach()
string(APPEND text "    {0, 0, 0, 0},\n};\n")

string(REPLACE "|" ";" folders "${code}")
set(hashes "")
foreach(folder IN LISTS folders)
    file(GLOB_RECURSE sources ${folder}/*.c ${folder}/*.h)
    list(SORT sources)
    foreach(source IN LISTS sources)
        file(SHA256 ${source} hash)
        string(APPEND hashes "${hash}")
    endforeach()
endforeach()
string(SHA256 hash "${hashes}")
string(APPEND text "\nconst char rdt_template_build[] = \"${hash}\";\n")

file(WRITE ${out} "${text}")
