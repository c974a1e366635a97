/* Value: how the values of options are read: one function for each kind, which puts what it reads
 * into the options, where the row says, or refuses it by the option's name. */
#pragma once

#include "cli/options.h"

rdt_value_fn rdt_value_steps, rdt_value_accuracy, rdt_value_archs, rdt_value_axes, rdt_value_count,
    rdt_value_counts, rdt_value_device, rdt_value_devices, rdt_value_dtypes, rdt_value_effort,
    rdt_value_flag, rdt_value_format, rdt_value_key_dtype, rdt_value_number, rdt_value_ops,
    rdt_value_order, rdt_value_outputs, rdt_value_parameter, rdt_value_part, rdt_value_percent,
    rdt_value_sample, rdt_value_seconds, rdt_value_shapes, rdt_value_spread, rdt_value_string,
    rdt_value_whole;
