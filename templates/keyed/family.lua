-- The family "keyed": out[k] is made of all elements whose key is k. A block reads elements and keys side by side, and
-- brings each element into the cell of its key, in a table of its own or one that all blocks share:
--   private  each thread has a column of the block's table, in shared memory: no atomics, and any op. Each block
--            leaves a table, and the last launch combines these
--   warps    each warp has a table in shared memory, whose lanes go one after the other where keys are equal: no
--            atomics, and any op, too
--   shared   the block has `copies` tables in shared memory, which its threads add to by atomics, and adds what they
--            have to a table in global memory in the end
--   global   all threads add to that table
--   sorted   rows' numbers are brought into the order of their keys first; threads combine the rows of a key by
--            themselves, and add them to that table
-- Atomics serve accumulators that are added, each part by itself, and those of one word by compare-and-swap. A warp
-- whose keys of a load are all equal, and a thread whose keys are, combines them first and adds once (`agree`): else
-- a hot key would have all threads wait for one cell.
--
-- p has, beside what all problems have, keys, how many there are, key, their dtype, spread, and of_rows: each key has a
-- cell for each column of its rows, p.inner of them.
local keyed = require "lib/keyed"
local limits = require "lib/limits"
local params = require "lib/params"

local family = {}

family.params = {
    params.block,
    { name = "tables", labels = { "private", "warps", "shared", "global", "sorted" },
      doc = "the table that threads add to: a column for each thread, one for each warp, for the block, for all" },
    { name = "cells", labels = { "wide", "narrow", "split" },
      doc = "of a block's table: accumulators; two words, floats in a fixed point; one, the other in the table of all" },
    { name = "columns", values = { 0, 4, 8, 16, 32, 64 },
      doc = "of rows, that a block has cells for, as other blocks have of the others; 0: all" },
    { name = "copies", values = { 1, 2, 4, 8, 16, 32 }, doc = "of a cell in a block's table, shared among its lanes" },
    { name = "hot", values = { 0, 2, 4 }, doc = "keys that a thread adds up by itself, most of a sample" },
    params.vec,
    params.with(params.unroll, { values = { 1, 2, 4 } }),
    { name = "ahead", labels = { "no", "yes" }, doc = "whether the next loads come before those are used" },
    { name = "agree", labels = { "yes", "no" },
      doc = "whether keys that are equal within a load of a warp or thread are combined first" },
    params.with(params.per_sm, { doc = "blocks per multiprocessor at most" }),
}

local function cells(p, c)
    local columns = p.of_rows and p.inner or 1
    return p.keys * (c and c.columns > 0 and c.columns or columns)
end

-- Bytes of shared memory that a block may have, and a multiprocessor has, if a kernel asks for them.
local function block_bytes_max(d)
    return keyed.block_bytes_max(10 * d.major + d.minor)
end

-- Other orders and accuracies, and more keys of accumulators that no atomic combines, are for "reordered".
function family.serves(p, d)
    if p.layout ~= "keyed" or p.accuracy ~= "plain" then return false end
    local cell, bytes = keyed.cell_of(p, d)
    return (cell.parts or cell.word or cells(p) * bytes <= block_bytes_max(d)) and true or false
end

local function table_bytes(c, p, d)
    local cell, bytes = keyed.cell_of(p, d)
    local narrow = c.cells ~= "wide" and keyed.narrow(p, cell, c.cells == "split")
    if narrow then
        return cells(p, c) * 4 * c.copies * narrow.words + 4 * (narrow.spare + narrow.backs)
    end
    if c.tables == "private" then return c.block * cells(p, c) * bytes end
    if c.tables == "warps" then return c.block // 32 * cells(p, c) * bytes end
    return c.tables == "shared" and c.copies * cells(p, c) * bytes or 0
end

-- A wide load brings at most 16 bytes of elements; its keys may take several.
local function widest(p)
    return math.max(1, math.min(16 // p.dtype.bytes, 64 // p.key.bytes, 8))
end

-- What no keys and no GPU change comes first: it leaves out most of the points, whose lists are long.
function family.allowed(c, p, d)
    if c.tables ~= "shared" and c.copies > 1 then
        return false, "copies=%d, and tables=%s: add copies=1", c.copies, c.tables
    end
    if c.hot > 0 and (c.tables == "private" or c.tables == "warps") then
        return false, "hot=%d, and tables=%s: hot=0", c.hot, c.tables
    end
    if p.of_rows and (c.hot > 0 or c.agree == "yes") then
        return false, "hot=%d, agree=%s, and keys of rows, whose elements side by side have cells of their own: hot=0, "
            .. "agree=no", c.hot, c.agree
    end
    if c.tables == "sorted" and limits.has_beside(p) then
        return false, "tables=sorted, which reads one array: tables=global"
    end
    if c.tables == "sorted" and (not p.of_rows or c.hot > 0 or c.columns < c.vec or c.columns // c.vec > 32) then
        return false, "tables=sorted, columns=%d: of rows alone, by a load to 32 of columns: columns=%d", c.columns,
            16 * c.vec
    end
    if c.columns > 0 and (c.tables ~= "shared" and c.tables ~= "sorted" or not p.of_rows or c.columns % c.vec > 0) then
        return false, "columns=%d, tables=%s, vec=%d: blocks that share a table of rows have some of their columns, in "
            .. "whole loads; add columns=0", c.columns, c.tables, c.vec
    end
    local cell = keyed.cell_of(p, d)
    if c.cells ~= "wide" and (c.tables ~= "shared" or not keyed.narrow(p, cell, c.cells == "split")) then
        return false, "cells=%s, which only tables=shared of sums have: cells=wide", c.cells
    end
    if not limits.has_threads(c, p, d) then return limits.has_threads(c, p, d) end
    if c.vec > widest(p) then
        return false, "vec=%d, and a load has at most %d elements of %s with their keys", c.vec, widest(p), p.dtype.name
    end
    if c.tables ~= "private" and c.tables ~= "warps" and not (cell.parts or cell.word) then
        return false, "tables=%s, and no atomic operation combines accumulators of %s: tables=warps", c.tables,
            p.op.name
    end
    local most = block_bytes_max(d)
    if table_bytes(c, p, d) > most then
        return false, "tables=%s of %d keys take %d bytes of shared memory, of %d", c.tables, cells(p, c),
            table_bytes(c, p, d), most
    end
    return true
end

-- Blocks that a multiprocessor has shared memory for.
local function resident(c, p, d)
    return (block_bytes_max(d) + 1024) // (table_bytes(c, p, d) + 1024)
end

function family.distinct(c, p, d)
    if c.ahead == "yes" and (c.vec == 1 or c.tables == "sorted") then return false end
    return (c.tables ~= "private" or c.agree == "no") and c.per_sm <= resident(c, p, d) and c.columns < 2 * p.inner
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

-- Columns of a row whose cells a block has room for; 0: not those of 4.
local function choose_columns(c, p, d)
    for _, columns in ipairs { 16, 8, 4 } do
        c.columns = columns
        if columns < 2 * p.inner and columns % c.vec == 0 and table_bytes(c, p, d) <= block_bytes_max(d) then return end
    end
    c.columns = 0
end

-- Narrow cells where sums have them: atomics of 64 bits wait longer for each other. Of rows only where there is no room
-- for 16 copies of wide ones. Split ones where there is no room for these.
local function choose_cells(c, p, d)
    local cell, most = keyed.cell_of(p, d), block_bytes_max(d)
    local function add_copies(bytes)
        while c.copies < 32 and 2 * table_bytes(c, p, d) <= bytes do c.copies = 2 * c.copies end
    end
    local narrow = keyed.narrow(p, cell)
    if p.of_rows then choose_columns(c, p, d) end
    if p.of_rows or not narrow then add_copies(64 * 1024) end
    if c.copies >= 16 or not narrow then return end
    c.cells, c.copies = "narrow", 1
    if p.of_rows then choose_columns(c, p, d) end
    if table_bytes(c, p, d) > most and keyed.narrow(p, cell, true) then
        c.cells = "split"
        if p.of_rows then choose_columns(c, p, d) end
    end
    if p.of_rows then add_copies(most // 2 - 1024) end
end

-- Whether sorting the keys takes less time than an atomic in L2 for each element.
local function is_long(p)
    local bytes = p.inner * p.dtype.bytes
    return p.of_rows and not limits.has_beside(p) and bytes >= 128 and p.count * bytes >= 64 << 20 and p.count < 1 << 32 and p.keys < 1 << 32
end

local function sort_rows(c, p, d)
    c.tables, c.cells, c.copies, c.agree, c.columns = "sorted", "wide", 1, "no", 64
    while c.columns >= 2 * p.inner or c.columns // c.vec > 32 do c.columns = c.columns // 2 end
    return with_per_sm(c, p, d)
end

-- Columns where a multiprocessor has room for those of 512 threads: hot keys cost nothing there, and any op goes. Else
-- the block's table with agreement, whose worst case is the best, as long as it fits; with copies for few keys; of ops
-- that no atomic combines, the warps' tables. Few elements of many keys are added where all tables meet in the end.
function family.default(p, d)
    local cell, bytes = keyed.cell_of(p, d)
    local atomic, most = cell.parts or cell.word, block_bytes_max(d)
    local c = {
        block = 256, tables = "private", cells = "wide", columns = 0, copies = 1, hot = 0, vec = 1, unroll = 2,
        ahead = "no", agree = "no", per_sm = 1,
    }
    -- A row has one key; else a load of keys has at most 16 bytes, of short elements two of them.
    local function is_fine(vec)
        if p.of_rows then return p.inner % vec == 0 end
        return vec * p.key.bytes <= (p.dtype.bytes <= 2 and 32 or 16)
    end
    while 2 * c.vec <= widest(p) and is_fine(2 * c.vec) do
        c.vec = 2 * c.vec
    end
    if 512 * cells(p) * bytes <= most then return with_per_sm(c, p, d) end
    -- Where keys are said to agree by chance alone, asking costs 2 to 5 %.
    c.agree = (p.spread == "uniform" or p.of_rows) and "no" or "yes"
    if not atomic then
        c.tables = "warps"
        while c.block > 32 and table_bytes(c, p, d) > most do c.block = c.block // 2 end
        return with_per_sm(c, p, d)
    end
    c.tables = p.count < 2 * p.keys and "global" or "shared"
    if c.tables == "shared" then
        choose_cells(c, p, d)
        if table_bytes(c, p, d) > most then
            if is_long(p) then return sort_rows(c, p, d) end
            c.tables, c.cells, c.columns, c.copies, c.hot = "global", "wide", 0, 1, 0
            c.agree = (p.spread == "uniform" or p.of_rows) and "no" or "yes"
        end
    end
    if c.tables == "global" then return with_per_sm(c, p, d) end
    -- Hot keys wait least where one block of a multiprocessor has one copy of narrow cells.
    local halves = 2 * table_bytes(c, p, d) <= most and c.columns == 0 and (c.cells == "wide" or p.of_rows)
    c.block = halves and 512 or 1024
    -- Where registers suffice.
    local fits = c.vec > 1 and c.cells ~= "split" and p.dtype.bytes >= 4 and p.key.bytes <= 4
    if fits and not p.of_rows then c.ahead = "yes" end
    return with_per_sm(c, p, d, 1024) -- more of them wait for each other's cells
end

-- A block of tables in shared memory makes and adds all of these: it has elements enough to be worth it.
function family.launch(c, p, d)
    local _, bytes = keyed.cell_of(p, d)
    local tile = c.block * c.vec * c.unroll
    if c.tables == "sorted" then
        tile = 128 * c.block * c.vec
    elseif c.tables ~= "global" then
        tile = math.max(tile, math.min(2 * c.copies * cells(p, c), 1 << 24))
    end
    local shared = table_bytes(c, p, d)
    return {
        threads = c.block, tile = tile, blocks_max = math.min(c.per_sm * d.sm_count, d.blocks_max), keyed = true,
        sliced = c.tables == "private" or c.tables == "warps", cell_bytes = bytes,
        dynamic_bytes = shared > 0 and shared or nil, sorts = c.tables == "sorted", overlap = d.major >= 9,
    }
end

return family
