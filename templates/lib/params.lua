-- Params: the parameters that families have in common: a family's list names these, and declares its own beside them.
local params = {}

params.block = { name = "block", values = { 32, 64, 128, 256, 512, 1024 }, doc = "threads per block" }
-- Where smaller and larger blocks are never the fastest.
params.middle_block = { name = "block", values = { 64, 128, 256, 512 }, doc = params.block.doc }
params.vec = { name = "vec", values = { 1, 2, 4, 8, 16 }, doc = "elements per load" }
params.unroll = { name = "unroll", values = { 1, 2, 4, 8 }, doc = "independent loads in flight per thread" }

-- Rows: the threads that share one.
params.row_lanes = { name = "lanes", values = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024 },
    doc = "threads per row" }

-- Columns: the threads of a strip.
params.width = { name = "width", values = { 1, 2, 4, 8, 16, 32, 64, 128, 256 },
    doc = "threads side by side, over neighbouring columns" }
params.columns_vec = { name = "vec", values = params.vec.values, doc = "columns per thread, and per load" }

-- The fixed order of docs/order.md.
params.chunks = { name = "chunks", values = { 1, 2, 4, 8 },
    doc = "chunks of 4 KiB in a node of a long segment, at least" }

-- Segments: what a launch deals out by the work that tables say there is.
params.resident = { name = "resident", values = { 1, 2, 3, 4 },
    doc = "blocks that a multiprocessor has registers for, at least" }
params.dealt_per_sm = { name = "per_sm", values = { 1, 2, 3, 4, 8, 16 }, launch = true,
    doc = "blocks per multiprocessor at most" }

-- The path of a load.
params.load = { name = "load", labels = { "no_allocate", "plain" },
    doc = "the path of a load: past L1, or through it" }

-- Blocks that share what they make (lib/splits.cu).
params.finish = { name = "finish", labels = { "single", "poll" },
    doc = "how blocks that share results are combined: there are none, or by the last" }
params.per_sm = { name = "per_sm", values = { 1, 2, 4, 8, 16 }, launch = true,
    doc = "blocks per multiprocessor at most, if they share results" }
params.many_per_sm = { name = "per_sm", values = { 1, 2, 4, 8, 16, 32, 64 }, launch = true, doc = params.per_sm.doc }

-- The parameter, with other values or labels, or another text.
function params.with(param, changes)
    return {
        name = param.name, values = changes.values or param.values, labels = changes.labels or param.labels,
        doc = changes.doc or param.doc, launch = param.launch,
    }
end

return params
