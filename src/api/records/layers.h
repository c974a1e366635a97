/* Layers: the databases that are read one over another, those of the user first. */
#pragma once

#include "base/log.h"
#include "cache/rows.h"
#include "cache/tuning.h"

enum { RDT_LAYER_MAX = 16 };

typedef struct rdt_layers {
    char *path[RDT_LAYER_MAX]; /* those that may be there; the first is the one that is written,
                                * "" where the environment has no place for it */
    int count;
    int own; /* how many of them are the user's; below are the system's, and redtune's own */
    /* The network file system of the one that was named first; then this host's own lies over it:
     * locks cannot be relied on there. NULL: it is on none. */
    const char *network;
    bool lenient;  /* what of the user's cannot be read is left out with a warning, too */
    unsigned told; /* a bit for each layer whose failure the log has */
} rdt_layers;

/* chosen: a list of paths with ':' between, as in --db; NULL: $REDTUNE_DB, else the user's. Below
 * them lie those of $REDTUNE_SYSTEM_DB (empty: none), if it is set, else /etc/redtune/tuning.db,
 * /usr/share/redtune/tuning.db and the rows that redtune comes with. Over one on a network file
 * system lies this host's: tuning.HOST.db over tuning.db. */
redtune_status rdt_layers_list(const char *chosen, rdt_layers *out, redtune_error *err);
void rdt_layers_free(rdt_layers *layers);
/* Says, before this host's own file is made, that it will be. */
void rdt_layers_note(const rdt_layers *layers, const rdt_log *log);
/* Whether those of the user's that are there can be opened. If lenient, the log, which may be NULL,
 * says why one cannot, once for all reads. Looks at no row. */
redtune_status rdt_layers_check(rdt_layers *layers, const rdt_log *log, redtune_error *err);

/* Reads rows of every layer that exists: with a problem those of its class and cache state, or of
 * all classes alike, else all; of contenders only those that may have a say in who wins. A layer of
 * the user's that cannot be read fails, unless lenient; of the others nothing is read then, and the
 * log, which may be NULL, says why, once. */
typedef struct rdt_layers_wanted {
    const redtune_problem *problem; /* NULL: all, in every cache state */
    /* Whether another class counts as the problem's, of the same layout; NULL: none does. */
    bool (*alike)(const redtune_problem *of_class, const redtune_problem *problem);
    const rdt_tuning_near *near; /* of contenders only these; NULL: all */
    rdt_cache_state cache;
    bool contenders;
    const rdt_log *log;
    bool *left_out; /* set where a layer is unavailable, and may be there soon; may be NULL */
} rdt_layers_wanted;
redtune_status rdt_layers_read(rdt_layers *layers, const rdt_layers_wanted *wanted, rdt_rows *rows,
                               redtune_error *err);

/* Calls each with every GPU of the layers from first up to end; equal models
 * may come more than once. left_out, which may be NULL, becomes why the first layer was left out,
 * if one was. */
redtune_status rdt_layers_each_gpu(const rdt_layers *layers, int first, int end,
                                   rdt_tuning_gpu_fn *each, void *user, redtune_error *left_out,
                                   redtune_error *err);
