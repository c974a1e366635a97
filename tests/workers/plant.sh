# Plant: a copy of the templates in which four candidates of "block" go wrong, each in its own way.
# They are the kernels with one block of 32 threads, load=no_allocate, one element a load and 1, 2, 4
# and 8 loads.

# plant FOLDER [one]: makes it, and has redtune take it. one: only the first, which writes where there
# is no memory.
plant() {
    local folder=$1 one=${2:+1} source=${BASH_SOURCE%/*}/../../templates
    mkdir -p "$folder"
    cp -r "$source/." "$folder/"
    awk -v one="$one" '
        { print }
        /^redtune_reduce\(const element/ { inside = 1 }
        inside && /^{$/ {
            inside = 0
            print "//@ if finish == \"single\" and block == 32 and vec == 1 and load == \"no_allocate\" then"
            print "//@     if unroll == 1 then"
            print "    *(volatile u32 *)64 = 1;"
            if (one) {
                print "//@     end"
                print "//@ end"
                next
            }
            print "//@     elseif unroll == 2 then"
            print "    *(volatile u32 *)((char *)output + 1) = 1;"
            print "//@     elseif unroll == 4 then"
            print "    for (u32 i = 0; i < 2; i &= 1) *((volatile u32 *)output) = i++;"
            print "//@     else"
            print "    asm volatile(\"trap;\");"
            print "//@     end"
            print "//@ end"
        }' "$source/block/kernel.cu" >"$folder/block/kernel.cu"
    export REDTUNE_TEMPLATES=$folder
}
