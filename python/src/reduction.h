// Reduction: a call's arguments as a problem, and the shape and dtype of its results.
#pragma once

#include "array.h"

enum { OUTPUTS_MAX = 2, PARAMETERS_MAX = 2 };
// Python's bool, as the dtype of a result: redtune has no such dtype.
constexpr auto BOOL = static_cast<redtune_dtype>(REDTUNE_DTYPE_END);

// A result's dtype, and how Python sees it: 0 and 1 are a bool, and numbers of elements are i64.
struct result_dtype {
    redtune_dtype c;
    redtune_dtype shown;
    bool boolean;
};

// A mask in the shape of the array that it is for: its steps are 0 along axes that it has not.
struct mask_view {
    nb::object held; // whose memory it is
    array given;     // bools or bytes of bits, as they were given
    array view;
    int64_t strides[DIMENSIONS_MAX];
};

// What is read beside x; NULL: there is none.
struct others {
    const array *y = nullptr, *mask = nullptr;

    others(const array *second = nullptr, const array *where = nullptr) : y(second), mask(where) {}
};

struct reduction {
    redtune_problem problem = {};
    const redtune_op_info *op = nullptr;
    result_dtype result[OUTPUTS_MAX];
    int dimensions = 0; // of the results
    int64_t shape[DIMENSIONS_MAX];
    double parameters[PARAMETERS_MAX];
    uint64_t mask_first = 0; // of a mask of bits
    bool for_torch = false;  // even if the array is of no library: only dtypes are asked for
    bool has_initial = false;
    redtune_value initial; // of the result's dtype
    bool is_empty = false; // there are no results, as a kept axis has no index
    bool of_none = false;  // the results are of no elements
    // Of arrays of the host: whether the problem is of packed rows, to which the elements are still
    // to be copied; and the order of x's axes there, the `kept` ones first. A packed x that is
    // reduced whole has no such order.
    bool packs = false;
    int order[DIMENSIONS_MAX], kept = 0;
    bool reduced[DIMENSIONS_MAX]; // x's axes, but of arrays without results

    // The problem of reducing x, and y, along the axes: None, a number or a tuple of them. Arrays
    // of the host may lie as they like.
    void fold(const array &x, const others &beside, nb::handle axis, bool keepdims);
    // Takes what where= was given, bools or redtune.bits; false: nothing. The view is of bools of
    // x's shape, or of bits beside x's elements in C order.
    bool take_where(const array &x, nb::handle where, mask_view *out);
    // A number that each result begins with.
    void take_initial(nb::handle value);
    // op is its number; dtype a redtune_dtype for the results, REDTUNE_DTYPE_NONE or BOOL.
    void choose(int op, const array &x, redtune_dtype dtype);
    // Makes it one of packed rows of x, which has kept axes.
    void pack(const array &x);
    // Gives it the steps of x, of what is beside it and, where it is not NULL, of the array of the
    // results, whatever they are.
    void set_steps(const array &x, const others &beside, const array *out);
    // A tuple of numbers, or None.
    void take_parameters(nb::handle values);

  private:
    void take_mask(const array &x, mask_view *out);
    void fold_axes(const array &x, const others &beside, bool alike, nb::handle axis,
                   bool keepdims);
    redtune_status fold_none(const array &x, redtune_error *err);
    void list_axes(const array &x);
};

// Sets the axes of a whole array of count elements; or, where segments is not 0, of that many
// segments of count elements each on average.
inline void set_size(redtune_problem &problem, uint64_t segments, uint64_t count) {
    problem.steps = 0;
    problem.kept_axes = segments != 0;
    problem.kept[0].size = segments;
    problem.reduced_axes = 1;
    problem.reduced[0].size = count;
}

// An array's shape for messages, as Python shows it.
std::string shape_text(const array &x);

// What an op is; lives as long as the process.
const redtune_op_info *op_get(int op);
