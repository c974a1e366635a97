/* The standard streams for a static Lua inside the shared library.
 *
 * Debian's liblua5.4.a is made for programs: its code reaches stdin, stdout and stderr as a program
 * would, directly, which a shared library may not do with another library's variables. The linker's
 * --wrap points those three at the copies below, which are the library's own. */
#include <stdio.h>

extern FILE *__real_stdin, *__real_stdout, *__real_stderr;
FILE *__wrap_stdin, *__wrap_stdout, *__wrap_stderr;

__attribute__((constructor)) static void copy_streams(void) {
    __wrap_stdin = __real_stdin;
    __wrap_stdout = __real_stdout;
    __wrap_stderr = __real_stderr;
}
