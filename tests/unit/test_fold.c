/* Facts about model/fold.h: the results of pieces put together are the result of the whole. */
#include <math.h>
#include "check.h"
#include "fold.h"
#include "reference.h"
#include "model/scalar.h"

enum { COUNT = 300 };

/* What the elements are like. */
typedef enum mood { SMALL, ZEROS, NANS, INFINITIES, ONLY_NANS, MOODS } mood;

static uint64_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

/* Numbers of which every sum of squares is exact in f32; products stay in range, because most
 * factors are -1 or 1. */
static double draw(redtune_op op, mood how, uint64_t *state) {
    uint64_t random = next(state);
    double sign = random & 1 ? -1 : 1;
    if (how == ZEROS && random % 3) return sign * 0.0;
    if (how == ONLY_NANS || (how == NANS && random % 50 == 0)) return (double)NAN;
    if (how == INFINITIES && random % 100 == 0) return sign * (double)INFINITY;
    if (op == REDTUNE_PROD) return random % 16 ? sign : sign * 2;
    return sign * (double)(random / 2 % 40);
}

static void fill(const redtune_problem *problem, mood how, uint64_t seed, uint64_t *elements) {
    uint64_t state = seed;
    bool is_float = rdt_scalar_is_float(problem->dtype);
    size_t bytes = redtune_dtype_bytes(problem->dtype);
    for (size_t i = 0; i < COUNT; i++) {
        double real = draw(problem->op, is_float || how == ZEROS ? how : SMALL, &state);
        if (rdt_dtype_find(problem->dtype)->kind == RDT_KIND_UNSIGNED) real = fabs(real);
        redtune_value each = is_float
                                 ? rdt_scalar_from_real(problem->dtype, real)
                                 : rdt_scalar_from_bits(problem->dtype, (uint64_t)(int64_t)real);
        memcpy((char *)elements + i * bytes, &each, bytes);
    }
}

/* The pieces' results are the reference's, as the GPU would give them. */
static redtune_value fold_pieces(const redtune_problem *problem, const void *elements,
                                 uint64_t count, uint64_t most) {
    rdt_fold fold = rdt_fold_begin(problem);
    redtune_problem piece = rdt_fold_piece(problem);
    uint64_t state = most;
    for (uint64_t done = 0, taken; done < count; done += taken) {
        const char *from = (const char *)elements + done * redtune_dtype_bytes(problem->dtype);
        rdt_reference found;
        taken = 1 + next(&state) % most;
        if (taken > count - done) taken = count - done;
        rdt_reference_reduce(&piece, from, taken, &found);
        rdt_fold_add(&fold, &found.value, from, taken);
    }
    return rdt_fold_value(&fold);
}

static void check_problem(const redtune_problem *problem) {
    uint64_t elements[COUNT];
    for (int how = 0; how < MOODS; how++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            fill(problem, (mood)how, seed, elements);
            for (uint64_t most = 1; most <= 2 * COUNT; most = most * 7) {
                rdt_reference whole;
                rdt_reference_reduce(problem, elements, COUNT, &whole);
                redtune_value folded = fold_pieces(problem, elements, COUNT, most);
                check_that(rdt_scalar_same(problem->result, &folded, &whole.value), __FILE__,
                           __LINE__, "%s of %s as %s in pieces of up to %llu, data %d",
                           redtune_op_name(problem->op), redtune_dtype_name(problem->dtype),
                           redtune_dtype_name(problem->result), (unsigned long long)most, how);
            }
        }
    rdt_reference nothing;
    rdt_reference_reduce(problem, NULL, 0, &nothing);
    redtune_value folded = fold_pieces(problem, NULL, 0, 1);
    CHECK(rdt_scalar_same(problem->result, &folded, &nothing.value));
}

FACT(pieces_give_the_result_of_the_whole) {
    size_t tried = 0;
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry;
         op < &rdt_op_compiled_in.entry[RDT_REFERENCE_OPS]; op++)
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++)
            for (int result = 0; result < REDTUNE_DTYPE_END; result++) {
                redtune_problem problem = {op->op, dtype->dtype, (redtune_dtype)result};
                if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
                check_problem(&problem);
                if (check_state.failed) return;
                tried++;
            }
    CHECK(tried > 300);
}

FACT(every_piece_is_a_problem_of_its_own) {
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry;
         op < &rdt_op_compiled_in.entry[RDT_REFERENCE_OPS]; op++)
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++)
            for (int result = 0; result < REDTUNE_DTYPE_END; result++) {
                redtune_problem problem = {op->op, dtype->dtype, (redtune_dtype)result};
                if (rdt_problem_resolve(&problem, &problem, NULL)) continue;
                redtune_problem piece = rdt_fold_piece(&problem), resolved, again;
                CHECK_INT(rdt_problem_resolve(&piece, &resolved, NULL), REDTUNE_OK);
                CHECK_INT(resolved.result, piece.result);
                again = rdt_fold_piece(&piece);
                CHECK(again.op == piece.op && again.result == piece.result);
            }
}

static redtune_value folded(redtune_op op, redtune_dtype dtype, const double *values,
                            size_t count) {
    redtune_problem problem = {op, dtype};
    rdt_problem_resolve(&problem, &problem, NULL);
    rdt_fold fold = rdt_fold_begin(&problem);
    for (size_t i = 0; i < count; i++) {
        redtune_value value = rdt_scalar_from_real(fold.piece.result, values[i]);
        rdt_fold_add(&fold, &value, NULL, 1);
    }
    return rdt_fold_value(&fold);
}

FACT(integers_are_added_in_64_bits) {
    static const double values[] = {4e9, 4e9, -1};
    CHECK_INT(folded(REDTUNE_SUM, REDTUNE_I32, values, 3).i64, 7999999999);
}

FACT(floats_are_compensated) {
    static const double values[] = {1, 1e100, 1, -1e100};
    static const double ones[] = {16777216, 1, 1, 1, 1};
    CHECK(folded(REDTUNE_SUM, REDTUNE_F64, values, 4).f64 == 2);
    CHECK(folded(REDTUNE_SUM, REDTUNE_F32, ones, 5).f32 == 16777220);
}

FACT(infinity_and_nan_are_kept) {
    static const double values[] = {1, (double)INFINITY, 2};
    static const double both[] = {(double)INFINITY, (double)-INFINITY};
    static const double nan[] = {1, (double)NAN, 2};
    CHECK(isinf(folded(REDTUNE_SUM, REDTUNE_F64, values, 3).f64));
    CHECK(isnan(folded(REDTUNE_SUM, REDTUNE_F32, both, 2).f32));
    CHECK(isnan(folded(REDTUNE_SUM, REDTUNE_F64, nan, 3).f64));
    CHECK(isnan(folded(REDTUNE_MIN, REDTUNE_F64, nan, 3).f64));
    CHECK(folded(REDTUNE_FMIN, REDTUNE_F64, nan, 3).f64 == 1);
}

/* The result of no elements, such as an infinity or the index -1, is no element's. */
FACT(empty_pieces_change_nothing) {
    static const uint8_t element[] = {7};
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry;
         op < &rdt_op_compiled_in.entry[RDT_REFERENCE_OPS]; op++) {
        redtune_problem problem = {op->op, REDTUNE_U8};
        CHECK_INT(rdt_problem_resolve(&problem, &problem, NULL), REDTUNE_OK);
        rdt_fold fold = rdt_fold_begin(&problem);
        rdt_reference nothing, one, wanted;
        rdt_reference_reduce(&fold.piece, NULL, 0, &nothing);
        rdt_reference_reduce(&fold.piece, element, 1, &one);
        rdt_reference_reduce(&problem, element, 1, &wanted);
        rdt_fold_add(&fold, &nothing.value, NULL, 0);
        rdt_fold_add(&fold, &one.value, element, 1);
        rdt_fold_add(&fold, &nothing.value, NULL, 0);
        redtune_value value = rdt_fold_value(&fold);
        CHECK(rdt_scalar_same(problem.result, &value, &wanted.value));
    }
}

/* Sums of the squares of a piece fit u64, and the sum of pieces is read without a sign. */
FACT(squares_of_narrow_integers_have_no_sign) {
    static const double squares[] = {0x1p62, 0x1p62};
    CHECK(folded(REDTUNE_NORM2, REDTUNE_I16, squares, 2).f64 == sqrt(0x1p63));
}

int main(int argc, char **argv) { return check_run(argc, argv); }
