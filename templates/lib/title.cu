//@ -- What a kernel says of itself first: `by` is its template, and `of` what its results are of.
//@ -- `many`: it may be started on any number of blocks; `shares`: what several blocks share;
//@ -- `own`: segments that a block takes, where others help with giants.
//@ takes op, given, result, dtype, order, config, block, by, of, many?, own?, shares?
// redtune: the @{op.name} of @{dtype.name} into @{result.name}, by the template "@{by}" with
// @{config}
//@ if order == "fixed" then
// compile with --fmad=false
//@ end
//
//@ if of == "whole" then
// output[0] = @{op.formula}
// for any n = count and any element-aligned input.
//@ elseif of == "rows" then
// output[r] = @{op.formula}
// for each of `outer` rows r: n = count elements side by side from input[r * outer_step] on,
// wherever that is.
//@ elseif of == "columns" then
// output[o * inner + i] = @{op.formula}
// for each of `outer` times `inner` columns (o, i): x[e] is input[o * outer_step + e * step + i],
// for n = count elements e, wherever that is.
//@ elseif of == "axes" then
// output[place of k] = @{op.formula}
// for each index k of the kept axes: n = count elements, wherever the steps of the axes lead.
//@ elseif of == "keys" then
// output[k] = @{op.formula}
// for each key k: n = those elements whose key is k.
//@ elseif of == "segments" then
// output[i] = @{op.formula}
// for each segment i, n = its elements, wherever they are.
//@ else
// *output = @{op.formula}
// for the elements of all segments, one segment after the other, wherever they are.
//@ end
//@ if given.masked or given.pairs then
// @{given.pairs and "Pairs" or "Elements"} whose @{given.bits and "bit" or "byte"} in the mask is 0 are absent.
//@ end
//@ if order == "fixed" then
// They are combined in the order of docs/order.md.
//@ end
// Start it with @{block} threads per block@{many and ", on any number of blocks" or ""}.
//@ if own then
// There is to be a block for every @{own} segments and some more, which share giants; any number is right.
//@ end
//@ if shares then
// There are as many blocks for each of the @{shares} as share it.
//@ end
