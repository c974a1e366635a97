# Declared: the functions that the public headers under ${root} declare, in the list `declared`.
file(GLOB headers ${root}/include/redtune/*.h)
set(declared "")
foreach(header IN LISTS headers)
    file(READ ${header} text)
    string(REGEX MATCHALL "REDTUNE_API [^(;]*[ *]redtune_[a-z_]+\\(" found "${text}")
    list(APPEND declared ${found})
endforeach()
list(TRANSFORM declared REPLACE ".*[ *](redtune_[a-z_]+)\\(" "\\1")
