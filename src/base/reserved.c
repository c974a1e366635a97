/* Reserved: the fields at the end of a public struct that this version has no names for. */
#include "base/reserved.h"

redtune_status rdt_reserved_check(const void *reserved, size_t bytes, const char *type,
                                  redtune_error *err) {
    if (rdt_reserved_is_clear(reserved, bytes)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                    "cannot read a %s: its reserved fields are not zero; zero the struct, or use "
                    "the redtune that the program was built for (this is " REDTUNE_VERSION ")",
                    type);
}
