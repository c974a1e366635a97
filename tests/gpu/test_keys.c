/* Facts about the kernels of reductions by key: by their configs, every op, rows, fixed order and
 * hot keys. */
#include "keyed_trials.h"
#include "order_reference.h"

FACT(kernels_are_right_whatever_the_problem) {
    static const struct {
        const char *config;
        redtune_op op;
        redtune_dtype dtype;
    } kernels[] = {
        {"keyed:block=256,tables=shared,cells=wide,copies=4,vec=4,unroll=2,ahead=yes,agree=yes",
         REDTUNE_SUM, REDTUNE_F32},
        {"keyed:block=64,tables=shared,cells=wide,copies=16,vec=1,unroll=4,agree=no", REDTUNE_SUM,
         REDTUNE_I32},
        {"keyed:block=128,tables=shared,cells=wide,copies=1,vec=8,unroll=1,agree=yes", REDTUNE_MEAN,
         REDTUNE_F16},
        {"keyed:block=512,tables=shared,cells=wide,copies=2,vec=2,unroll=1,agree=yes", REDTUNE_MAX,
         REDTUNE_F64},
        {"keyed:block=32,tables=shared,cells=wide,copies=8,vec=4,unroll=2,agree=no", REDTUNE_PROD,
         REDTUNE_I16},
        {"keyed:block=256,tables=global,cells=wide,copies=1,vec=4,unroll=1,agree=yes", REDTUNE_SUM,
         REDTUNE_BF16},
        {"keyed:block=128,tables=global,cells=wide,copies=1,vec=1,unroll=2,agree=no", REDTUNE_MIN,
         REDTUNE_I8},
        {"keyed:block=64,tables=global,cells=wide,copies=1,vec=2,unroll=4,agree=yes",
         REDTUNE_SUM_SUMSQ, REDTUNE_F32},
        {"keyed:block=256,tables=shared,cells=narrow,copies=4,hot=4,vec=4,unroll="
         "2,agree="
         "yes",
         REDTUNE_SUM, REDTUNE_F32},
        {"keyed:block=64,tables=shared,cells=narrow,copies=32,hot=0,vec=2,unroll=1,agree=no",
         REDTUNE_SUM, REDTUNE_F16},
        {"keyed:block=128,tables=shared,cells=split,copies=1,hot=2,vec=4,unroll=1,agree="
         "no",
         REDTUNE_SUM_SUMSQ, REDTUNE_F32},
        {"keyed:block=128,tables=shared,cells=split,copies=2,hot=2,vec=8,unroll=1,agree=yes",
         REDTUNE_MEAN, REDTUNE_BF16},
        {"keyed:block=256,tables=shared,cells=narrow,copies=8,hot=4,vec=1,unroll=2,agree="
         "no",
         REDTUNE_SUM, REDTUNE_I32},
        {"keyed:block=64,tables=shared,cells=narrow,copies=1,hot=0,vec=4,unroll=1,agree=yes",
         REDTUNE_SUM_NONFINITE, REDTUNE_F32},
        {"keyed:block=64,tables=global,cells=wide,copies=1,hot=4,vec=2,unroll=1,agree=no",
         REDTUNE_SUM, REDTUNE_F64},
        {"keyed:block=128,tables=private,cells=wide,copies=1,vec=4,unroll=2,agree=no", REDTUNE_SUM,
         REDTUNE_F32},
        {"keyed:block=32,tables=private,cells=wide,copies=1,vec=1,unroll=1,agree=no",
         REDTUNE_MAX_AT, REDTUNE_F32},
        {"keyed:block=128,tables=private,cells=wide,copies=1,vec=8,unroll=1,agree=no",
         REDTUNE_MEAN_VAR, REDTUNE_F16},
        {"keyed:block=128,tables=warps,cells=wide,copies=1,vec=4,unroll=2,agree=yes",
         REDTUNE_MAX_AT, REDTUNE_F32},
        {"keyed:block=64,tables=warps,cells=wide,copies=1,vec=2,unroll=1,agree=no",
         REDTUNE_MEAN_VAR, REDTUNE_F64},
    };
    begin();
    for (size_t c = 0; c < sizeof kernels / sizeof *kernels; c++) {
        draw_from(c);
        for (int i = 0; i < 6 && !check_state.failed; i++) {
            /* mean_var's columns of more keys do not fit the least GPU. */
            const uint64_t most = i % 2 && kernels[c].op != REDTUNE_MEAN_VAR ? 60 : 7;
            const uint64_t k = i == 3 ? 1 : 1 + draw(most), n = i ? 1 + draw(9000) : 0;
            trial at = trial_of(kernels[c].op, kernels[c].dtype, key_dtypes[(c + i / 3) % 8], k, n);
            draw_the_rest(&at);
            at.p.config = kernels[c].config;
            run_plan(&at);
        }
    }
    end();
}

/* Second inputs and masks that begin anywhere, and of rows. */
FACT(what_lies_beside_elements_is_read_with_them) {
    static const struct {
        const char *config;
        redtune_op op;
        redtune_dtype dtype;
        redtune_mask mask;
        uint64_t width;
    } kernels[] = {
        {"keyed:block=256,tables=shared,cells=wide,copies=4,vec=4,unroll=2,ahead=yes,agree=yes",
         REDTUNE_DOT, REDTUNE_F32},
        {"keyed:block=64,tables=shared,cells=narrow,copies=2,hot=4,vec=4,unroll=1,agree=yes",
         REDTUNE_COSINE, REDTUNE_F32},
        {"keyed:block=128,tables=shared,cells=split,copies=2,hot=2,vec=8,unroll=1,agree=no",
         REDTUNE_WMEAN, REDTUNE_F16},
        {"keyed:block=64,tables=private,cells=wide,copies=1,vec=8,unroll=1,agree=no",
         REDTUNE_CHEBYSHEV, REDTUNE_I8},
        {"keyed:block=64,tables=warps,cells=wide,copies=1,vec=2,unroll=2,agree=yes", REDTUNE_MSE,
         REDTUNE_F64},
        {"keyed:block=128,tables=global,cells=wide,copies=1,vec=2,unroll=2,agree=yes",
         REDTUNE_CITYBLOCK, REDTUNE_I32},
        {"keyed:block=64,tables=shared,cells=wide,copies=2,columns=8,vec=4,unroll=1,agree=no",
         REDTUNE_DOT, REDTUNE_F32, REDTUNE_MASK_NONE, 12},
        {"reordered:", REDTUNE_DOT, REDTUNE_BF16},
        {"reordered:", REDTUNE_MSE, REDTUNE_F32, REDTUNE_MASK_NONE, 5},
        {"keyed:block=256,tables=shared,cells=wide,copies=4,vec=4,unroll=2,ahead=yes,agree=yes",
         REDTUNE_SUM, REDTUNE_F32, REDTUNE_MASK_BYTES},
        {"keyed:block=64,tables=shared,cells=narrow,copies=2,hot=4,vec=4,unroll=1,agree=yes",
         REDTUNE_MEAN, REDTUNE_F32, REDTUNE_MASK_BITS},
        {"keyed:block=128,tables=shared,cells=split,copies=2,hot=2,vec=8,unroll=1,agree=no",
         REDTUNE_SUM, REDTUNE_BF16, REDTUNE_MASK_BYTES},
        {"keyed:block=64,tables=private,cells=wide,copies=1,vec=8,unroll=1,agree=no", REDTUNE_MAX,
         REDTUNE_U8, REDTUNE_MASK_BITS},
        {"keyed:block=64,tables=warps,cells=wide,copies=1,vec=2,unroll=2,agree=yes", REDTUNE_MAX_AT,
         REDTUNE_F32, REDTUNE_MASK_BYTES},
        {"keyed:block=64,tables=warps,cells=wide,copies=1,vec=4,unroll=1,agree=no",
         REDTUNE_MEAN_VAR, REDTUNE_F32, REDTUNE_MASK_BITS},
        {"keyed:block=128,tables=global,cells=wide,copies=1,vec=4,unroll=2,agree=no", REDTUNE_MEAN,
         REDTUNE_I16, REDTUNE_MASK_BITS},
        {"keyed:block=64,tables=shared,cells=wide,copies=2,columns=8,vec=4,unroll=1,agree=no",
         REDTUNE_MEAN, REDTUNE_F32, REDTUNE_MASK_BYTES, 12},
        {"keyed:block=64,tables=global,cells=wide,columns=0,copies=1,vec=2,unroll=1,agree=no",
         REDTUNE_SUM, REDTUNE_I32, REDTUNE_MASK_BITS, 5},
        {"keyed:block=256,tables=shared,cells=wide,copies=4,vec=4,unroll=2,ahead=yes,agree=yes",
         REDTUNE_DOT, REDTUNE_F32, REDTUNE_MASK_BYTES},
        {"keyed:block=64,tables=shared,cells=narrow,copies=2,hot=4,vec=4,unroll=1,agree=yes",
         REDTUNE_MSE, REDTUNE_F32, REDTUNE_MASK_BITS},
        {"keyed:block=128,tables=shared,cells=split,copies=2,hot=2,vec=8,unroll=1,agree=no",
         REDTUNE_WMEAN, REDTUNE_F16, REDTUNE_MASK_BYTES},
        {"keyed:block=64,tables=private,cells=wide,copies=1,vec=8,unroll=1,agree=no",
         REDTUNE_CHEBYSHEV, REDTUNE_I8, REDTUNE_MASK_BITS},
        {"keyed:block=64,tables=warps,cells=wide,copies=1,vec=2,unroll=2,agree=yes", REDTUNE_MSE,
         REDTUNE_F64, REDTUNE_MASK_BYTES},
        {"keyed:block=128,tables=global,cells=wide,copies=1,vec=2,unroll=2,agree=yes",
         REDTUNE_CITYBLOCK, REDTUNE_I32, REDTUNE_MASK_BITS},
        {"keyed:block=64,tables=shared,cells=wide,copies=2,columns=8,vec=4,unroll=1,agree=no",
         REDTUNE_MSE, REDTUNE_F32, REDTUNE_MASK_BYTES, 12},
        {"keyed:block=64,tables=global,cells=wide,columns=0,copies=1,vec=1,unroll=1,agree=no",
         REDTUNE_DOT, REDTUNE_I16, REDTUNE_MASK_BITS, 5},
        {"reordered:", REDTUNE_MSE, REDTUNE_F32, REDTUNE_MASK_BYTES},
        {"reordered:", REDTUNE_DOT, REDTUNE_BF16, REDTUNE_MASK_BITS},
        {"reordered:", REDTUNE_VAR, REDTUNE_F32, REDTUNE_MASK_BYTES},
        {"reordered:", REDTUNE_ARGMAX, REDTUNE_F32, REDTUNE_MASK_BITS},
        {"reordered:", REDTUNE_MEAN_VAR, REDTUNE_F32, REDTUNE_MASK_BYTES, 5},
        {"reordered:", REDTUNE_MAX_AT, REDTUNE_F16, REDTUNE_MASK_BITS, 3},
        {"reordered:", REDTUNE_DOT, REDTUNE_I16, REDTUNE_MASK_BYTES, 5},
    };
    begin();
    for (size_t c = 0; c < sizeof kernels / sizeof *kernels && !check_state.failed; c++) {
        draw_from(c + 50);
        for (int i = 0; i < 7 && !check_state.failed; i++) {
            /* 255 and 256 are keys that absent elements have one more of than a digit. */
            const uint64_t width = kernels[c].width ? kernels[c].width : 1;
            const uint64_t k =
                i == 3 && kernels[c].config[0] == 'r' ? 255 : 1 + draw(i % 2 ? 60 : 7);
            const uint64_t n = i ? 1 + draw(9000 / width) : 0;
            trial at = trial_of(kernels[c].op, kernels[c].dtype, key_dtypes[(c + i / 3) % 8], k, n);
            if (width > 1)
                at = trial_of_rows(kernels[c].op, kernels[c].dtype, key_dtypes[c % 8], k, n, width);
            draw_the_rest(&at);
            at.pattern = (pattern)((c + (size_t)i) % PATTERNS);
            at.p.mask = kernels[c].mask;
            at.p.config = kernels[c].config;
            run_plan(&at);
        }
    }
    end();
}

/* Each as its default makes it, by few keys, by more of them than columns fit, and by more than a
 * warp's table, for which elements are reordered where no atomics combine them. */
FACT(every_op_is_right) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32,  REDTUNE_I32, REDTUNE_F64, REDTUNE_U8,
                                           REDTUNE_BF16, REDTUNE_I64, REDTUNE_E5M2};
    begin();
    int atomic = 0, reordered = 0;
    for (int op = 0; op < rdt_op_compiled_in.count && !check_state.failed; op++) {
        redtune_plan *plan = NULL;
        redtune_dtype result;
        draw_from((uint64_t)op);
        trial at = trial_of((redtune_op)op, dtypes[op % 7], key_dtypes[op % 2], 5, 700);
        at.p.mask = (redtune_mask)(op % 5 % 3);
        for (int i = op; redtune_problem_result(&at.p, &result, NULL); i++)
            at.p.dtype = dtypes[i % 7];
        draw_the_rest(&at);
        run(&at);
        at.p.keys = 1500; /* a table of 40 bytes each fits the 64 KiB of sm_75 */
        run(&at);
        at.p.keys = 30000;
        run(&at);
        CHECK_OK(redtune_plan_create(rt, &at.p, &plan, &err), err);
        const bool is_reordered = !strncmp(redtune_plan_config(plan), "reordered:", 10);
        redtune_plan_destroy(plan);
        atomic += !is_reordered;
        reordered += is_reordered;
    }
    CHECK(atomic >= 24 && reordered >= 8);
    printf("    %d ops by 30000 keys with atomics, %d reordered\n", atomic, reordered);
    end();
}

/* Of widths that loads divide, and of others; tables of threads, warps, blocks and all. */
FACT(columns_of_rows_have_results_of_their_own) {
    static const uint64_t widths[] = {2, 3, 4, 8, 12, 17, 33, 64, 257};
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MEAN, REDTUNE_MAX, REDTUNE_ARGMAX,
                                     REDTUNE_MEAN_VAR};
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_F16, REDTUNE_I32, REDTUNE_F64};
    begin();
    static const char *const slices[] = {
        "keyed:tables=shared,cells=narrow,columns=8,vec=4,ahead=yes,copies=1,block=64",
        "keyed:tables=shared,cells=split,columns=16,vec=2,copies=2,block=128,per_sm=1",
        "keyed:tables=shared,cells=wide,columns=4,vec=1,copies=1,block=32,per_sm=1",
        "keyed:tables=sorted,cells=wide,copies=1,columns=8,vec=4,unroll=2,block=64",
        "keyed:tables=sorted,cells=wide,copies=1,columns=32,vec=1,unroll=4,block=128,per_sm=1"};
    draw_from(2);
    for (int i = 0; i < 45 && !check_state.failed; i++) {
        const uint64_t width = widths[i / 5];
        trial at = trial_of_rows(REDTUNE_SUM, REDTUNE_F32, key_dtypes[i % 8], 1 + draw(25),
                                 draw(ROOM / width - 8), width);
        draw_the_rest(&at);
        at.p.config = slices[i % 5];
        run_plan(&at);
    }
    for (int i = 0; i < 45 && !check_state.failed; i++) {
        const uint64_t width = widths[i % 9], most = i % 3 ? 20 : OUT_ROOM / width;
        trial at =
            trial_of_rows(ops[i % 5], dtypes[i % 4], key_dtypes[i % 8],
                          1 + draw(i % 5 < 3 ? most : 1500 / width), draw(ROOM / width - 8), width);
        draw_the_rest(&at);
        run(&at);
    }
    end();
}

/* Those of each key's elements that are there, packed in their order, whatever the keys and the
 * rows. */
FACT(fixed_order_has_the_bits_of_packed_elements) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MEAN, REDTUNE_VAR, REDTUNE_PROD};
    static const uint64_t key_counts[] = {1, 3, 200, 700, 70000}, widths[] = {1, 1, 1, 5, 33};
    static float packed[ROOM], got[OUT_ROOM];
    begin();
    draw_from(4);
    for (int i = 0; i < 24 && !check_state.failed; i++) {
        const uint64_t width = widths[i % 5], k = key_counts[draw(width > 1 ? 4 : 5)];
        trial at = trial_of_rows(ops[i % 4], REDTUNE_F32, key_dtypes[(i / 3) % 8], k,
                                 draw(ROOM / width - 8), width);
        redtune_problem plain = redtune_problem_whole(at.p.op, REDTUNE_F32, 0);
        draw_the_rest(&at);
        at.p.mask = (redtune_mask)(i % 4 < 2 ? REDTUNE_MASK_NONE : 1 + i / 4 % 2);
        at.p.order = plain.order = REDTUNE_ORDER_FIXED;
        at.p.accuracy = plain.accuracy =
            i % 8 == 0 ? REDTUNE_ACCURACY_COMPENSATED : REDTUNE_ACCURACY_PLAIN;
        CHECK_OK(rdt_problem_resolve(&plain, &plain, &err), err);
        fill(&at);
        for (uint64_t e = 0; e < at.count * width; e++) {
            const float x = (float)(1 + draw(1 << 23)) / (1 << 22) - 1;
            memcpy(values + (at.x_off + e) * sizeof x, &x, sizeof x);
        }
        upload();
        const redtune_keyed keyed = keyed_of(&at);
        CHECK_OK(redtune_run_keyed(rt, &at.p, &keyed, gpu.stream, &err), err);
        CHECK_OK(rdt_buffer_read(gpu.driver, got, out[0].address + MARGIN, k * width * sizeof *got,
                                 gpu.stream, &err),
                 err);
        for (uint64_t cell = 0; cell < k * width; cell += 1 + k * width / 40) {
            redtune_value want[2];
            uint64_t count = 0;
            for (uint64_t e = 0; e < at.count; e++)
                if (key_of[e] == (int64_t)(cell / width) && is_there(&at, e * width + cell % width))
                    memcpy(packed + count++, values + (at.x_off + e * width + cell % width) * 4, 4);
            rdt_order_reference_reduce(&plain, packed, NULL, count, want);
            CHECK(!memcmp(&got[cell], &want[0].f32, 4) || (got[cell] != got[cell] && count < 2));
        }
    }
    end();
}

/* Where f32 had stopped counting; where words carry; and where a greatest element is in no sample.
 */
FACT(a_hot_key_counts_beyond_2_to_the_24) {
    static const char *const tables[] = {"shared",
                                         "global",
                                         "private",
                                         "shared,cells=split,hot=0",
                                         "shared,cells=narrow,hot=0",
                                         "shared,cells=narrow,hot=2"};
    static const struct {
        uint64_t at;
        int64_t value;
    } others[] = {{0, 1 << 24}, {0, 1}, {7, INT64_C(1) << 44}};
    begin();
    for (int i = 0; i < 18; i++) {
        char config[80];
        float sum = 0;
        redtune_plan *plan = NULL;
        trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, 3, 20001);
        snprintf(config, sizeof config, "keyed:tables=%s,copies=1,agree=no", tables[i / 3]);
        at.p.config = config;
        at.pattern = ONE;
        fill(&at);
        for (uint64_t e = 0; e < at.count; e++) rdt_scalar_store(REDTUNE_F32, values, e, 1);
        rdt_scalar_store(REDTUNE_F32, values, others[i % 3].at, others[i % 3].value);
        upload();
        const redtune_keyed keyed = keyed_of(&at);
        CHECK_OK(redtune_plan_create(rt, &at.p, &plan, &err), err);
        CHECK_OK(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), err);
        CHECK_OK(
            rdt_buffer_read(gpu.driver, &sum, out[0].address + MARGIN + 8, 4, gpu.stream, &err),
            err);
        CHECK(sum == (float)(others[i % 3].value + 20000));
        redtune_plan_destroy(plan);
    }
    end();
}

/* Cells of a fixed point round by 2^-18 of what is added at most, whatever the magnitudes; sums
 * keep the range of f64 until they are narrowed. */
FACT(narrow_cells_are_accurate_over_the_whole_range) {
    enum { KEYS = 4, COUNT = 8000 };
    static const char *const configs[] = {
        "keyed:tables=shared,cells=narrow,copies=1,hot=0,agree=no,block=64,per_sm=1",
        "keyed:tables=shared,cells=split,copies=4,hot=2,agree=yes,block=256"};
    begin();
    draw_from(3);
    for (int i = 0; i < 2; i++) {
        double sums[KEYS] = {0}, sizes[KEYS] = {0};
        float got[KEYS];
        redtune_plan *plan = NULL;
        trial at = trial_of(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, KEYS, COUNT);
        at.p.config = configs[i];
        fill(&at);
        for (uint64_t e = 0; e < COUNT; e++) {
            const int power = key_of[e] == 0 ? -20 + (int)draw(40) : -140 + (int)draw(260);
            float x = ldexpf((float)(1 + draw(1 << 23)), power - 23) * (draw(2) ? 1 : -1);
            if (key_of[e] == 2) x = e % 3 ? 3e38f : -3e38f; /* two more of one sign at times */
            if (key_of[e] == 3) x = draw(9) ? x : INFINITY;
            memcpy(values + e * sizeof x, &x, sizeof x);
            sums[key_of[e]] += x;
            sizes[key_of[e]] += fabs(x);
        }
        upload();
        const redtune_keyed keyed = keyed_of(&at);
        CHECK_OK(redtune_plan_create(rt, &at.p, &plan, &err), err);
        CHECK_OK(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), err);
        CHECK_OK(
            rdt_buffer_read(gpu.driver, got, out[0].address + MARGIN, sizeof got, gpu.stream, &err),
            err);
        for (int k = 0; k < KEYS - 1; k++)
            CHECK(got[k] == (float)sums[k] || fabs(got[k] - sums[k]) <= 0x1p-18 * sizes[k]);
        CHECK(got[3] == INFINITY);
        redtune_plan_destroy(plan);
    }
    end();
}

int main(int argc, char **argv) { return run_facts(argc, argv); }
