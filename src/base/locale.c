/* Locale: the C locale for what redtune writes and reads, whatever the host program's is. */
#define _POSIX_C_SOURCE 200809L
#include "base/locale.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <string.h>

void *rdt_locale_enter(void) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c ? uselocale(c) : (locale_t)0;
}

void rdt_locale_leave(void *before) {
    if (before) freelocale(uselocale(before));
}

const char *rdt_locale_reason(int code) {
    if (code == EMFILE) return "too many open files in this process; raise ulimit -n";
    if (code == EFBIG) return "the file would be too large; raise ulimit -f";
    void *before = rdt_locale_enter();
    const char *reason = strerror(code);
    rdt_locale_leave(before);
    return reason;
}

const char *rdt_locale_dlerror(void) {
    void *before = rdt_locale_enter();
    const char *reason = dlerror();
    rdt_locale_leave(before);
    return reason;
}
