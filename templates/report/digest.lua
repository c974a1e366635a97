-- What a report's numbers come to: its points in classes, and figures over all of them.
local number = require "report/number"

local digest = {}

-- What no row may exceed, however absurd its times: everything drawn from it stays finite.
local GBPS_MAX <const>, RATIO_MAX <const> = 1e6, 1e6

-- The gain from which on a tune pays.
local GAINFUL <const> = 1.01

function digest.rate(point, ns)
    return ns > 0 and math.min(point.bytes / ns, GBPS_MAX) or 0
end

function digest.gbps(point)
    return digest.rate(point, point.median_ns)
end

function digest.gain(point)
    return point.default_ns > 0 and math.min(point.default_ns / point.median_ns, RATIO_MAX) or 0
end

-- Half the distance between the quartiles, of the median.
function digest.noise(trial)
    return math.min(trial.spread_ns / trial.median_ns, RATIO_MAX)
end

-- At most n of a list, evenly, with the last.
function digest.thin(list, n)
    if #list <= n then return list end
    local out = {}
    for i = 1, n do out[i] = list[1 + (i - 1) * (#list - 1) // (n - 1)] end
    return out
end

-- "sum of f32", with the result's dtype where it is not the usual one.
function digest.title(class)
    local accuracy = class.accuracy == "plain" and "" or class.accuracy .. " "
    return ("%s%s of %s%s%s"):format(accuracy, class.op, class.dtype,
                                     class.usual_result and "" or " into " .. class.result,
                                     class.order == "fixed" and " in fixed order" or "")
end

-- "1M" of a whole array, "1Kx4K axis 1" of a matrix, as the command prints them.
function digest.size(point)
    if point.layout == "whole" then return number.count(point.count) end
    local columns, several = point.layout == "columns", point.outer > 1
    local text = (several and number.count(point.outer) .. "x" or "") .. number.count(point.count)
        .. (columns and "x" .. number.count(point.inner) or "") .. " axis " .. (several and 1 or 0)
    local steps = {}
    if several and point.outer_step ~= point.count * point.inner then
        steps[1] = number.count(point.outer_step)
    end
    if point.step ~= point.inner then steps[#steps + 1] = number.count(point.step) end
    return text .. (#steps > 0 and " pitch " .. table.concat(steps, ",") or "")
end

-- The points by op, dtype, result, layout, order and accuracy, each class with its cold points and
-- its warm ones.
function digest.classes(points)
    local classes, last = {}, nil
    for _, point in ipairs(points) do
        if not last or last.op ~= point.op or last.dtype ~= point.dtype
            or last.result ~= point.result or last.layout ~= point.layout
            or last.order ~= point.order or last.accuracy ~= point.accuracy then
            last = { op = point.op, dtype = point.dtype, result = point.result, layout = point.layout,
                     order = point.order, accuracy = point.accuracy,
                     usual_result = point.usual_result, cold = {}, warm = {} }
            classes[#classes + 1] = last
        end
        local list = point.warm and last.warm or last.cold
        list[#list + 1] = point
    end
    return classes
end

-- Whether the size is no power of two, as those at which a tune looks for where winners change.
function digest.is_uneven(point)
    return point.layout == "whole" and point.count & (point.count - 1) ~= 0
end

-- Those at powers of two, if there are several; else the list itself.
function digest.even(points)
    local even = {}
    for _, point in ipairs(points) do
        if not digest.is_uneven(point) then even[#even + 1] = point end
    end
    return #even >= 2 and #even < #points and even or points
end

-- Classes with two cold points and more, at most `most` of one op in a group.
function digest.groups(classes, most)
    local groups, of_op = {}, {}
    for _, class in ipairs(classes) do
        if #class.cold >= 2 then
            local last = of_op[class.op]
            if not last or #last == most then
                last = { op = class.op }
                groups[#groups + 1], of_op[class.op] = last, last
            end
            last[#last + 1] = class
        end
    end
    return groups
end

-- The classes of whole arrays, and those of rows and columns.
function digest.by_layout(classes)
    local whole, along = {}, {}
    for _, class in ipairs(classes) do
        local list = class.layout == "whole" and whole or along
        list[#list + 1] = class
    end
    return whole, along
end

-- Rows and columns of the packed matrix that a point is of; nil for any other array.
local function matrix(point)
    if point.step ~= point.inner then return nil end
    if point.layout == "columns" then
        if point.outer > 1 then return nil end
        return point.count, point.inner
    end
    if point.outer_step ~= point.count then return nil end
    return point.outer, point.count
end

-- Of the sizes, at most `most` in ascending order that have at least a quarter of the points of the
-- fullest one: the grid of a tune. The sizes of its crossovers stand nearly alone.
local function grid(sizes, points_of, most)
    local fullest, kept = 0, {}
    for _, size in ipairs(sizes) do fullest = math.max(fullest, points_of[size]) end
    for _, size in ipairs(sizes) do
        if 4 * points_of[size] >= fullest then kept[#kept + 1] = size end
    end
    table.sort(kept)
    return digest.thin(kept, most)
end

local function add_point(sizes, points_of, size)
    if not points_of[size] then sizes[#sizes + 1] = size end
    points_of[size] = (points_of[size] or 0) + 1
end

-- The matrices among the points: their numbers of rows and of columns, and the point at each, as
-- at[row][column].
function digest.plane(points, most)
    local at, rows, cols, in_row, in_col = {}, {}, {}, {}, {}
    for _, point in ipairs(points) do
        local row, col = matrix(point)
        if row then
            at[row] = at[row] or {}
            at[row][col] = point
            add_point(rows, in_row, row)
            add_point(cols, in_col, col)
        end
    end
    return { at = at, rows = grid(rows, in_row, most), cols = grid(cols, in_col, most) }
end

function digest.median(values)
    if #values == 0 then return 0 end
    table.sort(values)
    local middle = #values // 2
    return #values % 2 == 1 and values[middle + 1] or (values[middle] + values[middle + 1]) / 2
end

-- The value below which a fraction of the sorted values lies.
function digest.quantile(sorted, fraction)
    local at = 1 + fraction * (#sorted - 1)
    local below = at // 1 | 0
    local above = math.min(below + 1, #sorted)
    return sorted[below] + (at - below) * (sorted[above] - sorted[below])
end

-- Figures over all points. What is faster than the bus, as results stay in the L2 cache, is not the
-- fastest; peak: of the bus, 0: unknown.
function digest.totals(points, peak)
    local t = { measurements = 0, failed = 0, throttled = 0, disturbed = 0, hottest_c = 0,
                newest = 0, oldest = math.maxinteger, gains = {}, spreads = {}, log_gain = 0, gainful = 0, uneven = 0 }
    for _, point in ipairs(points) do
        local o = point.outcomes
        local failed = o.wrong + o.uncompiled + o.faulted + o.hung
        t.measurements = t.measurements + o.good + failed
        t.failed = t.failed + failed
        t.throttled, t.disturbed = t.throttled + point.throttled, t.disturbed + point.disturbed
        t.hottest_c = math.max(t.hottest_c, point.hottest_c)
        t.newest, t.oldest = math.max(t.newest, point.date), math.min(t.oldest, point.date)
        t.uneven = t.uneven + (digest.is_uneven(point) and 1 or 0)
        t.spreads[#t.spreads + 1] = digest.noise(point)
        local gain = digest.gain(point)
        if gain > 0 then
            t.gains[#t.gains + 1] = gain
            if gain >= GAINFUL then
                t.gainful, t.log_gain = t.gainful + 1, t.log_gain + math.log(gain)
            end
            if not t.best_gain or gain > digest.gain(t.best_gain) then t.best_gain = point end
        end
        -- A warm input comes out of the L2 cache: it says nothing of the memory bus.
        local f = t.fastest
        local beyond = peak > 0 and not point.warm and digest.gbps(point) > peak
        if not f or (f.warm and not point.warm)
            or (f.warm == point.warm and digest.gbps(point) > digest.gbps(f) and not beyond)
            or (f == t.beyond and not beyond) then
            t.fastest, t.beyond = point, beyond and point or nil
        end
    end
    t.mean_gain = math.exp(t.log_gain / math.max(t.gainful, 1))
    return t
end

-- The parameters of a list of trials, in their order, each with its values in the order in which
-- numbers and then words are read, and the trials that have the value.
function digest.params(trials)
    local params, by_name = {}, {}
    for _, trial in ipairs(trials) do
        for _, pair in ipairs(trial.params) do
            local param = by_name[pair.name]
            if not param then
                param = { name = pair.name, values = {}, by_value = {} }
                params[#params + 1], by_name[pair.name] = param, param
            end
            local value = param.by_value[pair.value]
            if not value then
                value = { name = pair.value, trials = {} }
                param.values[#param.values + 1], param.by_value[pair.value] = value, value
            end
            value.trials[#value.trials + 1] = trial
        end
    end
    for _, param in ipairs(params) do
        table.sort(param.values, function(a, b)
            local x, y = tonumber(a.name), tonumber(b.name)
            if x and y then return x < y end
            if x or y then return x ~= nil end
            return a.name < b.name
        end)
    end
    return params
end

-- The value of a trial's parameter; nil if it has none.
function digest.value(trial, name)
    for _, pair in ipairs(trial.params) do
        if pair.name == name then return pair.value end
    end
    return nil
end

return digest
