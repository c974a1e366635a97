/* Dtype: the table of the dtypes of elements and results. */
#include "model/dtype.h"

#include <string.h>
#include "base/text.h"

const rdt_dtype_traits rdt_dtype_table[] = {
#define ENTRY(dtype, name, bytes, kind, accumulator, exact_bits)                                   \
    {dtype, name, bytes, kind, accumulator, exact_bits},
    RDT_DTYPE_LIST(ENTRY)
#undef ENTRY
        {REDTUNE_DTYPE_NONE, NULL, 0, RDT_KIND_NONE, REDTUNE_DTYPE_NONE, 0},
};

const rdt_dtype_traits *rdt_dtype_find(redtune_dtype dtype) {
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++)
        if (traits->dtype == dtype) return traits;
    return NULL;
}

const char *redtune_dtype_name(redtune_dtype dtype) {
    const rdt_dtype_traits *traits = rdt_dtype_find(dtype);
    return traits ? traits->name : NULL;
}

size_t redtune_dtype_bytes(redtune_dtype dtype) {
    const rdt_dtype_traits *traits = rdt_dtype_find(dtype);
    return traits ? traits->bytes : 0;
}

redtune_status redtune_dtype_find(const char *name, redtune_dtype *dtype, redtune_error *err) {
    if (!dtype) return rdt_fail(err, REDTUNE_INVALID, 0, "cannot find a dtype: dtype is NULL");
    rdt_text known = {0};
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++) {
        if (name && !strcmp(traits->name, name)) {
            *dtype = traits->dtype;
            rdt_text_free(&known);
            return REDTUNE_OK;
        }
        rdt_text_addf(&known, "%s %s", traits == rdt_dtype_table ? "" : ",", traits->name);
    }
    redtune_status status =
        rdt_fail(err, REDTUNE_INVALID, 0, "cannot use dtype '%.40s': no such dtype; use%s",
                 name ? name : "", known.data ? known.data : "");
    rdt_text_free(&known);
    return status;
}
