// Call: one reduction of Python's arrays, from the arguments to the results.
#pragma once

#include <initializer_list>
#include <vector>

#include "reduction.h"

// What results may not overlap, by the name that the caller knows it by; NULL: it is not there.
struct named_array {
    const char *name;
    const array *view;
};

// The arrays that take the results: those that the caller gave, or new ones.
struct outputs {
    nb::object made[OUTPUTS_MAX];
    array view[OUTPUTS_MAX];

    // Chooses for x as reduction::choose does; without a dtype the result has that of out, an array
    // or None, as in NumPy, where the op has results of it.
    void choose(reduction *what, int op, const array &x, redtune_dtype dtype, nb::handle out);
    // out: None, an array, or a tuple of as many as there are results. inputs: x, and all else that
    // is read.
    void take(const reduction &what, std::initializer_list<named_array> inputs, nb::handle like,
              nb::handle out);
    // Raises for arrays on a GPU with gaps between their elements.
    void need_packed() const;
    // Lets a reduction on a GPU write where the arrays' strides say.
    void place(reduction *what, const array &x, const others &beside) const;
    // What the call returns: the array, or a tuple.
    nb::object get(const reduction &what, const array &x, nb::handle out) const;

  private:
    void read(int i, nb::handle given); // once
};

// Whether elements of the same index, of arrays of one shape, lie alike.
bool have_same_strides(const array &x, const array &y);

// What a call is given besides its op; None: left out.
struct call_arguments {
    nb::handle x, y, axis, out, stream, parameters, where = nb::none(), initial = nb::none();
    bool keepdims = false;
    redtune_dtype dtype = REDTUNE_DTYPE_NONE;
    redtune_order order = REDTUNE_ORDER_FREE;
    redtune_accuracy accuracy = REDTUNE_ACCURACY_PLAIN;
};

// Reduces x, and y, or those elements of x that `where` has, and returns the result's array, or a
// tuple of two.
nb::object call_op(int op, const call_arguments &given);

// Brings two inputs to one shape where one broadcasts to the other's, as NumPy has it.
void broadcast_pair(array *x, array *y);
// The operands of a call of that op, read and checked; y may be None.
void read_inputs(const redtune_op_info *op, nb::handle x, nb::handle y, array *in, array *second);

// Both raise as NumPy does for ops of no identity, unless there is an initial value: where there
// are no elements, and where a mask may leave none.
void check_elements(const reduction &what);
void check_identity(const reduction &what);

// Where the reduction's elements lie; the extents are the problem's.
redtune_operands operands_of(const reduction &what, const array &x, const others &beside,
                             const outputs &out, nb::handle parameters);

// Gives operands the problem's extents, as a plan's runs take them.
void put_extents(const redtune_problem &problem, redtune_operands *operands);

// The stream of the call: the caller's, the array's own, or the library's current one.
CUstream_st *stream_of(const array &x, nb::handle like, nb::handle stream);

// Raises for a tensor whose gradients are recorded: autograd does not see what redtune computes.
void refuse_gradients(const array &in, nb::handle x);

// Queues the reduction on the stream.
void run_on_device(const reduction &what, const array &x, const others &beside, const outputs &out,
                   nb::handle parameters, CUstream_st *stream);

// Reduces an array of the host in pieces, and waits for the result.
void run_keyed_on_host(const reduction &what, const array &x, const array &keys,
                       const others &beside, const outputs &out, nb::handle parameters);
void run_on_host(const reduction &what, const array &x, const others &beside, const outputs &out,
                 nb::handle parameters);

// Reduces the arrays of the host, of one dtype, one after the other, in row-major order: the
// segments that the offsets give, or where the problem has none, all to one result. beside: second
// inputs and masks, each of as many elements, one after the other, or none.
void run_list_on_host(const reduction &what, const std::vector<const array *> &arrays,
                      const std::vector<std::vector<const array *>> &beside,
                      const std::vector<uint64_t> &offsets, const outputs &out,
                      nb::handle parameters);

// Whether Python takes the object as true.
bool truth_of(nb::handle object);

void call_add(nb::module_ &module);
