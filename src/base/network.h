/* Network: which files lie on a network file system, and what this host is called. */
#pragma once

#include <stddef.h>

/* The name of the network file system where the file lies or, if it does not exist, the nearest
 * folder above it; NULL: on none. */
const char *rdt_network_find(const char *path);

/* This host's name as a part of a file's: what is no letter, digit, dot or dash is '_'. */
void rdt_network_host(char *out, size_t bytes);
