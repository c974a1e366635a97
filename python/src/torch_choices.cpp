// Torch choices: which of PyTorch's calls have equal semantics in redtune, by op and dtypes.
#include "torch_calls.h"

#include <cmath>

namespace {

// c10::ScalarType, whose numbers PyTorch keeps.
enum scalar {
    BYTE,
    CHAR,
    SHORT,
    INT,
    LONG,
    HALF,
    FLOAT,
    DOUBLE,
    BOOLEAN = 11,
    BFLOAT16 = 15,
    SCALARS
};

// What was asked for as the result's dtype.
enum wanted { NOTHING, THE_SAME, A_FLOAT, A_LONG, WANTED };

// Norms of other orders stand behind the ops.
enum { NORM_1 = REDTUNE_TORCH_OPS, NORM_MAX, NORM_MIN, VARIANTS };

torch_choice choices[VARIANTS][SCALARS][WANTED];

} // namespace

redtune_dtype torch_dtype_of(int type) {
    switch (type) {
    case BYTE:
    case BOOLEAN: return REDTUNE_U8;
    case CHAR: return REDTUNE_I8;
    case SHORT: return REDTUNE_I16;
    case INT: return REDTUNE_I32;
    case LONG: return REDTUNE_I64;
    case HALF: return REDTUNE_F16;
    case FLOAT: return REDTUNE_F32;
    case DOUBLE: return REDTUNE_F64;
    case BFLOAT16: return REDTUNE_BF16;
    default: return REDTUNE_DTYPE_NONE;
    }
}

namespace {

bool is_float(int type) {
    return type == HALF || type == FLOAT || type == DOUBLE || type == BFLOAT16;
}

// PyTorch converts each element to the dtype that is asked for; so do redtune's kernels where that
// is exact.
int float_result(int type, wanted asked) {
    if (!is_float(type) || asked == A_LONG) return -1;
    if (asked != A_FLOAT) return type;
    return type == DOUBLE ? -1 : FLOAT;
}

// The dtype of PyTorch's first result; -1: the call is PyTorch's.
int result_of(int variant, int type, wanted asked) {
    switch (variant) {
    case REDTUNE_TORCH_SUM:
        if (is_float(type)) return float_result(type, asked);
        return asked == NOTHING || asked == A_LONG ? LONG : -1;
    case REDTUNE_TORCH_MEAN:
    case REDTUNE_TORCH_NANSUM:
    case REDTUNE_TORCH_NORM:
    case NORM_1:
    case NORM_MAX:
    case NORM_MIN:
    case REDTUNE_TORCH_VAR:
    case REDTUNE_TORCH_STD:
    case REDTUNE_TORCH_VAR_MEAN:
    case REDTUNE_TORCH_LOGSUMEXP: return float_result(type, asked);
    case REDTUNE_TORCH_ARGMAX:
    case REDTUNE_TORCH_ARGMIN: return type == BOOLEAN ? -1 : LONG;
    case REDTUNE_TORCH_ANY:
    case REDTUNE_TORCH_ANY_DIM:
    case REDTUNE_TORCH_ANY_DIMS:
    case REDTUNE_TORCH_ALL:
    case REDTUNE_TORCH_ALL_DIM:
    case REDTUNE_TORCH_ALL_DIMS: return type == BYTE ? -1 : BOOLEAN; // of u8 they are u8
    case REDTUNE_TORCH_COUNT_NONZERO: return LONG;
    default: return type; // extremes
    }
}

const char *op_name(int variant) {
#define NAME(name, torch, redtune) redtune,
    static const char *const names[] = {REDTUNE_TORCH_LIST(NAME) "sumabs", "maxabs", "minabs"};
#undef NAME
    return names[variant];
}

// Integers of 64 bits are the same to a sum that wraps, and to counts.
bool is_alike(redtune_dtype found, int type, redtune_dtype elements) {
    if (type == LONG && elements != REDTUNE_I64 && found == REDTUNE_U64) return true;
    return found == torch_dtype_of(type);
}

// Whether redtune's results are of PyTorch's dtypes.
bool have_dtypes(const torch_choice &its) {
    redtune_dtype found[2] = {};
    if (redtune_problem_results(&its.problem, found, nullptr)) return false;
    for (int i = 0; i < its.results; i++)
        if (!is_alike(found[i], its.result_dtype[i], its.problem.dtype)) return false;
    return true;
}

void fill(int variant, int type, wanted asked) {
    torch_choice &its = choices[variant][type][asked];
    redtune_op_info info;
    const int first = result_of(variant, type, asked);
    its = {};
    if (torch_dtype_of(type) == REDTUNE_DTYPE_NONE || first < 0) return;
    if (redtune_op_find(op_name(variant), &its.problem.op, nullptr)) return;
    if (redtune_op_get(its.problem.op, &info, nullptr)) return;
    if (type == BOOLEAN && !info.bools) return;
    its.problem.dtype = torch_dtype_of(type);
    if (type == BOOLEAN) its.problem.uses = REDTUNE_USE_BOOLS;
    its.results = info.outputs;
    its.result_dtype[0] = first;
    its.result_dtype[1] = variant == REDTUNE_TORCH_VAR_MEAN ? first : LONG;
    its.swaps = variant == REDTUNE_TORCH_VAR_MEAN;
    its.has_parameter = info.parameters > 0;
    its.is_served = have_dtypes(its);
    if (its.is_served || !is_float(first)) return;
    its.problem.result = torch_dtype_of(first); // not the usual one
    its.is_served = have_dtypes(its);
}

int variant_of(const redtune_torch_call &call) {
    if (call.op != REDTUNE_TORCH_NORM || call.parameter == 2) return call.op;
    if (call.parameter == 1) return NORM_1;
    if (std::isinf(call.parameter)) return call.parameter > 0 ? NORM_MAX : NORM_MIN;
    return -1;
}

int wanted_of(const redtune_torch_call &call) {
    if (call.wanted < 0) return NOTHING;
    if (call.wanted == LONG) return A_LONG;
    if (call.wanted == call.dtype) return THE_SAME;
    return call.wanted == FLOAT ? A_FLOAT : -1;
}

} // namespace

void torch_choices_fill() {
    for (int variant = 0; variant < VARIANTS; variant++)
        for (int type = 0; type < SCALARS; type++)
            for (int asked = 0; asked < WANTED; asked++)
                fill(variant, type, static_cast<wanted>(asked));
}

const torch_choice *torch_choice_find(const redtune_torch_call &call) {
    const int variant = variant_of(call), asked = wanted_of(call);
    if (variant < 0 || asked < 0 || call.dtype >= SCALARS) return nullptr;
    const torch_choice *its = &choices[variant][call.dtype][asked];
    return its->is_served ? its : nullptr;
}
