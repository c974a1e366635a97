/* Nearest: which name a mistyped word may stand for. */
#ifndef RDT_CLI_NEAREST_H
#define RDT_CLI_NEAREST_H

/* The name nearest to the word, NULL if none is near. names ends with NULL. */
const char *rdt_nearest_find(const char *word, const char *const names[]);

#endif
