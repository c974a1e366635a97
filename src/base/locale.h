/* Locale: the C locale for what redtune writes and reads, whatever the host program's is. A German
 * one would put commas into numbers, a Turkish one take "I" and "i" for different letters. */
#pragma once

/* Gives the calling thread the C locale, and returns the one it had, for rdt_locale_leave. */
void *rdt_locale_enter(void);
void rdt_locale_leave(void *before);

/* strerror and dlerror, in English. Of a limit of the process the reason says how to raise it. */
const char *rdt_locale_reason(int code);
const char *rdt_locale_dlerror(void);
