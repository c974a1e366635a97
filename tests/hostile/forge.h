/* Forge: honest tuning databases, and how the tests make hostile ones of them. The honest ones hold
 * what a tune with the templates at hand could give, on a GPU like an H200. */
#pragma once

#include "unit/database.h"

#include "cache/tuning.h"
#include "codegen/codegen.h"
#include "redtune/records.h"

/* What every hostile text has in it, so that it is found wherever it should not be. */
#define FORGE_MARK "pwn3d"

enum { FORGE_COUNT = 1 << 20 };

/* Opens the templates; before all else. */
bool forge_begin(void);
/* What is forged from now on was measured on the simulated GPU, so that plans on it go by it. */
bool forge_use_simulated(void);
void forge_end(void);
rdt_codegen *forge_codegen(void);
/* The GPU that databases are forged for, and the problems that one of them has rows of, resolved.
 */
const rdt_facts *forge_gpu(void);
enum { FORGE_PROBLEMS = 5 };
redtune_problem forge_problem(size_t i);

/* Writes an honest database with pages of that size; 0: SQLite's default. */
bool forge_database(const char *path, int page_bytes);
/* One with one row, the winner at FORGE_COUNT elements; no default. */
bool forge_single(const char *path);
/* The first as JSON lines. */
bool forge_lines(const char *path);
/* Puts JSON lines in the place of the database whose rows they have. */
bool forge_export(const char *path);

/* Changes bytes of a file, or appends them where offset is its length. */
bool forge_patch(const char *path, size_t offset, const void *data, size_t bytes);
bool forge_patch_u32(const char *path, size_t offset, uint32_t value);
/* Runs SQL with the CHECKs, foreign keys and STRICT's types switched off, and leaves the text of
 * the schema as it was. */
bool forge_unchecked(const char *path, const char *sql);
/* An endless walk in a finite file: in place of the last child of the page there comes a tree whose
 * inner pages name one child again and again, down to a leaf with the cell. The pages are 512 bytes
 * each. */
bool forge_maze(const char *path, uint32_t page, const unsigned char *cell, size_t cell_bytes);

/* The same of the schema, of billions of rows that SQLite reads without a complaint: 'index',
 * 'sqlite_autoindex_gpu_1', 'gpu', its root, NULL. */
bool forge_schema_maze(const char *path);

/* Imports the file into the database at local. Fields but database and files are 0. */
redtune_status forge_import(const char *local, const char *path, redtune_import_counts *report,
                            redtune_error *error);
