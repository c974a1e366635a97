// List: many reductions at once, of the arrays of a list.
#pragma once

#include <memory>

#include "call.h"
#include "redtune/list.h"

// The reduction of a list, an ArrayList of Python's, to one result or to one of each array.
struct list_run {
    redtune *rt = nullptr;
    const array *first = nullptr; // of the list, which the caller holds
    nb::object like;              // the same array, as Python has it
    reduction what;
    outputs results;
    redtune_segments segments = {};
    std::shared_ptr<redtune_list> masked_list; // in place of the list, with masks

    void take(nb::handle list, int op, bool each, nb::handle out, int dtype, int order,
              int accuracy, nb::handle parameters);
    // A mask for each array of a GPU, or None.
    // of_team: other ranks may give masks where this one has none.
    void take_masks(nb::handle list, nb::handle where, bool of_team);
};

// Destroys the C lists of all that are left, which cannot be reduced any more.
void list_close_all();

void list_add(nb::module_ &module);
