-- The family "keyed": out[k] is made of all elements whose key is k. A block reads elements and keys side by side, and
-- brings each element into the cell of its key, in a table of its own or one that all blocks share:
--   private  each thread has a column of the block's table, in shared memory: no atomics, and any op. Each block
--            leaves a table, and the last launch combines these
--   warps    each warp has a table in shared memory, whose lanes go one after the other where keys are equal: no
--            atomics, and any op, too
--   shared   the block has `copies` tables in shared memory, which its threads add to by atomics, and adds what they
--            have to a table in global memory in the end
--   global   all threads add to that table
-- Atomics serve accumulators that are added, each part by itself, and those of one word by compare-and-swap. A warp
-- whose keys of a load are all equal, and a thread whose keys are, combines them first and adds once (`agree`): else
-- a hot key would have all threads wait for one cell.
--
-- p has, beside what all problems have, keys, how many there are, key, their dtype, and spread.
local keyed = require "lib/keyed"
local limits = require "lib/limits"
local params = require "lib/params"

local family = {}

family.params = {
    params.block,
    { name = "tables", labels = { "private", "warps", "shared", "global" },
      doc = "the table that threads add to: a column for each thread, one for each warp, for the block, for all" },
    { name = "copies", values = { 1, 2, 4, 8, 16 }, doc = "tables of a block, shared among its lanes" },
    params.vec,
    params.with(params.unroll, { values = { 1, 2, 4 } }),
    { name = "agree", labels = { "yes", "no" },
      doc = "whether keys that are equal within a load of a warp or thread are combined first" },
    params.with(params.per_sm, { doc = "blocks per multiprocessor at most" }),
}

function family.serves(p)
    return p.layout == "keyed"
end

-- Bytes of shared memory that a block may have, and a multiprocessor has, if a kernel asks for them.
local function block_bytes_max(d)
    local arch = 10 * d.major + d.minor
    local of_100 = d.major >= 12 or arch == 86 or arch == 89
    local kib = arch < 80 and 64 or of_100 and 99 or arch < 90 and 163 or 227
    return kib * 1024
end

local function table_bytes(c, p, d)
    local _, bytes = keyed.cell_of(p, d)
    if c.tables == "private" then return c.block * p.keys * bytes end
    if c.tables == "warps" then return c.block // 32 * p.keys * bytes end
    return c.tables == "shared" and c.copies * p.keys * bytes or 0
end

-- A wide load brings at most 16 bytes of elements; its keys may take several.
local function widest(p)
    return math.max(1, math.min(16 // p.dtype.bytes, 64 // p.key.bytes, 8))
end

function family.allowed(c, p, d)
    local cell, bytes = keyed.cell_of(p, d)
    if not limits.has_threads(c, p, d) then return limits.has_threads(c, p, d) end
    if c.vec > widest(p) then
        return false, "vec=%d, and a load has at most %d elements of %s with their keys", c.vec, widest(p), p.dtype.name
    end
    local most = block_bytes_max(d)
    if c.tables == "warps" and table_bytes(c, p, d) > most and not (cell.parts or cell.word) then
        return false, "no atomic operation combines accumulators of %s, so that a warp needs a table of its own, "
            .. "and shared memory has room for one of %d keys", p.op.name, most // bytes
    end
    if table_bytes(c, p, d) > most then
        return false, "tables=%s of %d keys take %d bytes of shared memory, of %d", c.tables, p.keys,
            table_bytes(c, p, d), most
    end
    if (c.tables == "shared" or c.tables == "global") and not (cell.parts or cell.word) then
        return false, "tables=%s, and no atomic operation combines accumulators of %s: tables=warps", c.tables,
            p.op.name
    end
    if c.tables ~= "shared" and c.copies > 1 then
        return false, "copies=%d, and tables=%s: add copies=1", c.copies, c.tables
    end
    return true
end

-- Blocks that a multiprocessor has shared memory for.
local function resident(c, p, d)
    return (block_bytes_max(d) + 1024) // (table_bytes(c, p, d) + 1024)
end

function family.distinct(c, p, d)
    return (c.tables ~= "private" or c.agree == "no") and c.per_sm <= resident(c, p, d)
end

function family.useful(c, p, d)
    return c.per_sm * c.block <= d.threads_per_sm and 4 * c.per_sm * c.block >= d.threads_per_sm
end

local function with_per_sm(c, p, d, threads)
    local most = math.min(resident(c, p, d), (threads or d.threads_per_sm) // c.block)
    c.per_sm = 1
    while 2 * c.per_sm <= most and c.per_sm < 16 do c.per_sm = 2 * c.per_sm end
    return c
end

-- Columns where a multiprocessor has room for those of 512 threads: hot keys cost nothing there, and any op goes. Else
-- the block's table with agreement, whose worst case is the best, as long as it fits; with copies for few keys; of ops
-- that no atomic combines, the warps' tables. Few elements of many keys are added where all tables meet in the end.
function family.default(p, d)
    local cell, bytes = keyed.cell_of(p, d)
    local atomic, most = cell.parts or cell.word, block_bytes_max(d)
    local c = { block = 256, tables = "private", copies = 1, vec = 1, unroll = 2, agree = "no", per_sm = 1 }
    while 2 * c.vec <= widest(p) and c.vec * p.key.bytes < 16 do c.vec = 2 * c.vec end
    if 512 * p.keys * bytes <= most then return with_per_sm(c, p, d) end
    -- Where keys are said to agree by chance alone, asking costs 2 to 5 %.
    c.agree = p.spread == "uniform" and "no" or "yes"
    if not atomic then
        c.tables = "warps"
        while c.block > 32 and table_bytes(c, p, d) > most do c.block = c.block // 2 end
        return with_per_sm(c, p, d)
    end
    c.tables = "shared"
    if p.keys * bytes > most or p.count < 2 * p.keys then
        c.tables = "global"
        return with_per_sm(c, p, d)
    end
    while c.copies < 16 and 2 * c.copies * p.keys * bytes <= 32 * 1024 do c.copies = 2 * c.copies end
    c.block = p.keys * bytes <= 48 * 1024 and 512 or 1024
    return with_per_sm(c, p, d, 1024) -- more of them wait for each other's cells
end

-- A block of tables in shared memory makes and adds all of these: it has elements enough to be worth it.
function family.launch(c, p, d)
    local _, bytes = keyed.cell_of(p, d)
    local tile = c.block * c.vec * c.unroll
    if c.tables ~= "global" then tile = math.max(tile, math.min(2 * c.copies * p.keys, 1 << 24)) end
    local shared = table_bytes(c, p, d)
    return {
        threads = c.block, tile = tile, blocks_max = math.min(c.per_sm * d.sm_count, d.blocks_max), keyed = true,
        sliced = c.tables == "private" or c.tables == "warps", cell_bytes = bytes, dynamic_bytes = shared > 0 and shared or nil,
    }
end

return family
