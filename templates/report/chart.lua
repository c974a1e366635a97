-- Charts as SVG. Colours and strokes are the page's classes. What stands in a text must be escaped.
local digest = require "report/digest"
local number = require "report/number"

local chart = {}

local WIDTH <const>, LEFT <const>, RIGHT <const>, TOP <const> = 360, 48, 18, 22

local function at(x)
    return ("%.1f"):format(x)
end

local function text(x, y, class, content)
    return ('<text x="%s" y="%s" class="%s">%s</text>'):format(at(x), at(y), class, content)
end

local function line(x1, y1, x2, y2, class)
    return ('<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>'):format(at(x1), at(y1), at(x2),
                                                                       at(y2), class)
end

local function svg(height, label, parts)
    return ('<svg viewBox="0 0 %d %d" role="img" aria-label="%s">\n%s\n</svg>'):format(
        WIDTH, height, label, table.concat(parts, "\n"))
end

-- A step of 1, 2, 2.5 or 5 times a power of ten that cuts the span into few parts.
local function nice_step(span, parts)
    local step = 10.0 ^ math.floor(math.log(span / parts, 10))
    for _, factor in ipairs { 1, 2, 2.5, 5, 10 } do
        if span / (step * factor) <= parts then return step * factor end
    end
    return step * 10
end

local function log2(x)
    return math.log(x, 2)
end

-- The values of y that are labelled: of c.low to c.high, or of decades where c.log.
local function ticks(c)
    local values, step = {}, nice_step(c.high - c.low, 5)
    if not c.log then
        for i = math.ceil(c.low / step - 1e-9), math.floor(c.high / step + 1e-9) do
            values[#values + 1] = i * step
        end
        return values
    end
    for power = math.ceil(math.log(c.low, 10) - 1e-9), math.floor(math.log(c.high, 10) + 1e-9) do
        values[#values + 1] = 10.0 ^ power
    end
    return values
end

-- Lines over elements on a log scale. c.series: lists of { x, y, note } with a class and a label;
-- c.low, c.high: the range of y, whose unit is c.unit; c.log: a log scale of y, whole decades from
-- that of c.low on; c.format(y) labels it; c.marks: heights { y, label }.
function chart.lines(c)
    local height, bottom = 236, 38
    local low_x, high_x = math.huge, 0
    for _, series in ipairs(c.series) do
        for _, p in ipairs(series) do
            low_x, high_x = math.min(low_x, p.x), math.max(high_x, p.x)
        end
    end
    if high_x == 0 then return svg(height, c.label, {}) end
    if c.log then c.low = 10.0 ^ math.floor(math.log(c.low, 10)) end
    local first, last = log2(low_x), log2(high_x)
    if last - first < 1 then first, last = first - 0.5, last + 0.5 end
    local function x_of(x)
        return LEFT + (log2(x) - first) / (last - first) * (WIDTH - LEFT - RIGHT)
    end
    local scale = c.log and log2 or function(y) return y end
    local function y_of(y)
        local part = (scale(y) - scale(c.low)) / (scale(c.high) - scale(c.low))
        return height - bottom - part * (height - bottom - TOP)
    end
    local parts = {}
    local function add(part) parts[#parts + 1] = part end
    add(text(2, 11, "note", c.unit))
    add(text(WIDTH - RIGHT, height - 5, "end note", "elements"))
    for _, y in ipairs(ticks(c)) do
        add(line(LEFT, y_of(y), WIDTH - RIGHT, y_of(y), "grid"))
        add(text(LEFT - 5, y_of(y) + 4, "end", c.format(y)))
    end
    local every = last - first > 24 and 8 or last - first > 14 and 4 or last - first > 6 and 2 or 1
    for power = math.ceil(first), math.floor(last) do
        if power % every == 0 then
            add(line(x_of(2.0 ^ power), height - bottom, x_of(2.0 ^ power), height - bottom + 4,
                     "axis"))
            add(text(x_of(2.0 ^ power), height - bottom + 17, "mid", number.count(1 << power)))
        end
    end
    add(line(LEFT, height - bottom, WIDTH - RIGHT, height - bottom, "axis"))
    for _, mark in ipairs(c.marks or {}) do
        add(line(LEFT, y_of(mark.y), WIDTH - RIGHT, y_of(mark.y), "peak"))
        add(text(LEFT + 5, y_of(mark.y) + 14, "note", mark.label))
    end
    for _, series in ipairs(c.series) do
        local places = {}
        for _, p in ipairs(series) do places[#places + 1] = at(x_of(p.x)) .. "," .. at(y_of(p.y)) end
        add(('<polyline class="line %s" points="%s"/>'):format(series.class,
                                                              table.concat(places, " ")))
        for _, p in ipairs(series.dots and series or {}) do
            add(('<circle class="dot %s" cx="%s" cy="%s" r="3"><title>%s</title></circle>'):format(
                series.class, at(x_of(p.x)), at(y_of(p.y)), p.note))
        end
    end
    return svg(height, c.label, parts)
end

-- For each value of a parameter how its candidates spread: p as digest.params gives it, best_ns the
-- winner's time. Times are a multiple of that, on a log scale up to `most`.
function chart.spread(p, best_ns, most)
    local row, top, left = 24, 4, 92
    local height = top + row * #p.values + 22
    local function x_of(ns)
        local x = math.min(log2(math.max(ns / best_ns, 1)) / log2(most), 1)
        return left + x * (WIDTH - left - 48)
    end
    local parts = {}
    local function add(part) parts[#parts + 1] = part end
    local ticks = most > 12 and { 1, 2, 4, 8, 16, 32, 64 } or most > 3.9 and { 1, 2, 4, 8 }
        or most > 1.9 and { 1, 1.5, 2, 3 } or { 1, 1.1, 1.25, 1.5 }
    for _, tick in ipairs(ticks) do
        if tick <= most * 1.001 then
            local x = x_of(tick * best_ns)
            add(line(x, top, x, height - 20, "grid"))
            add(text(x, height - 6, "mid", ("%g×"):format(tick)))
        end
    end
    for i, value in ipairs(p.values) do
        local times, y = {}, top + row * (i - 0.5)
        for k, trial in ipairs(value.trials) do times[k] = trial.median_ns end
        table.sort(times)
        local low, high = digest.quantile(times, 0.25), digest.quantile(times, 0.75)
        local one_best = times[1] <= best_ns * 1.0000001
        add(text(left - 8, y + 4, one_best and "end strong" or "end", value.name))
        add(line(x_of(times[1]), y, x_of(times[#times]), y, "whisker"))
        add(('<rect class="box" x="%s" y="%s" width="%s" height="10"/>'):format(
            at(x_of(low)), at(y - 5), at(math.max(x_of(high) - x_of(low), 1))))
        add(('<circle class="dot %s" cx="%s" cy="%s" r="4"><title>%s=%s: %d candidates, %s to %s us'
            .. '</title></circle>'):format(one_best and "s1" or "s2", at(x_of(times[1])), at(y),
            p.name, value.name, #times, number.us(times[1]), number.us(times[#times])))
        add(text(WIDTH - 2, y + 4, "end note", ("%.2f×"):format(times[1] / best_ns)))
    end
    return svg(height, ("time by %s"):format(p.name), parts)
end

-- A map of matrices: a line of cells for each number of rows, a column for each of columns. plane as
-- digest.plane gives it; cell(point) gives a cell's text, the strength of its colour from 0 to 1, the
-- colour's class, and what it says more.
function chart.plane(plane, label, cell)
    local row, top, left = 18, 18, 46
    local wide = (WIDTH - left - 2) / #plane.cols
    local parts = {}
    local function add(part) parts[#parts + 1] = part end
    local free = 0 -- where the label before ends
    for k, col in ipairs(plane.cols) do
        local name, middle = number.count(col), left + (k - 0.5) * wide
        if middle - 3.3 * #name >= free then
            add(text(middle, 12, "mid note", name))
            free = middle + 3.3 * #name + 4
        end
    end
    for i, size in ipairs(plane.rows) do
        local y = top + (i - 1) * row
        add(text(left - 5, y + 13, "end note", number.count(size)))
        for k, col in ipairs(plane.cols) do
            local point = plane.at[size][col]
            if point then
                local shown, strength, class, note = cell(point)
                local x = left + (k - 1) * wide
                local opacity = math.max(math.min(strength, 1), 0) * 0.88 + 0.08
                add(('<rect class="cell %s" x="%s" y="%s" width="%s" height="%d" fill-opacity="%.2f">'
                    .. '<title>%s</title></rect>'):format(class, at(x), at(y), at(wide - 1), row - 1,
                                                          opacity, note))
                if wide >= 5 * #shown + 3 then
                    add(text(x + wide / 2 - 0.5, y + 13, opacity > 0.6 and "mid tiny over"
                             or "mid tiny", shown))
                end
            end
        end
    end
    return svg(top + row * #plane.rows + 2, label, parts)
end

-- Horizontal bars: rows of { label, value, note, class }.
function chart.bars(rows, label, most)
    local row, left = 24, 84
    local parts = {}
    for i, r in ipairs(rows) do
        local y = row * (i - 0.5)
        local width = math.max(r.value / most * (WIDTH - left - 112), 1)
        parts[#parts + 1] = text(left - 8, y + 4, "end", r.label)
        parts[#parts + 1] = ('<rect class="bar %s" x="%d" y="%s" width="%s" height="14" rx="2"/>')
            :format(r.class, left, at(y - 7), at(width))
        parts[#parts + 1] = text(left + width + 6, y + 4, "start", r.note)
    end
    return svg(row * #rows + 4, label, parts)
end

return chart
