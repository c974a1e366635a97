-- Maps of the plane of matrices: for each class of rows or columns three figures, of the bandwidth,
-- the gain and the template of each winner. What stands in a text is escaped already.
local chart = require "report/chart"
local digest = require "report/digest"
local number = require "report/number"

local maps = {}

-- So that a page stays small: at most so many numbers of rows and of columns are shown.
local SIZES_MAX <const> = 24

function maps.title(class)
    return ("%s along axis %d"):format(digest.title(class), class.layout == "rows" and 1 or 0)
end

-- The strongest colour's bandwidth: the bus's, or, where that is unknown, the highest of all.
function maps.full_gbps(classes, peak)
    local most = peak
    for _, class in ipairs(classes) do
        for _, point in ipairs(class.cold) do
            if peak <= 0 then most = math.max(most, digest.gbps(point)) end
        end
    end
    return math.max(most, 1e-9)
end

local function figure(caption, picture)
    return ("<figure><figcaption>%s</figcaption>\n%s\n</figure>"):format(caption, picture)
end

local function percent(x)
    return ("%d"):format(number.whole(100 * x))
end

-- The templates of the points: the number of each, from 1, and a key of the first few.
local function families(points)
    local numbers, names = {}, {}
    for _, point in ipairs(points) do
        if not numbers[point.family] then
            names[#names + 1] = ("%d = %s"):format(#names + 1, point.family)
            numbers[point.family] = #names
        end
    end
    return numbers, table.concat(names, ", ", 1, math.min(#names, 6))
end

local function note(point)
    return ("%s: %s us, %s GB/s, %s, %s %s"):format(
        digest.size(point), number.us(point.median_ns), number.short(digest.gbps(point)),
        number.gain(digest.gain(point)), point.family, point.config)
end

-- The three figures; nil where no point is of a packed matrix.
function maps.figures(class, peak, full_gbps)
    local plane = digest.plane(class.cold, SIZES_MAX)
    if #plane.rows == 0 then return nil end
    local title = maps.title(class)
    local numbers, key = families(class.cold)
    local function bandwidth(point)
        local gbps = digest.gbps(point)
        local shown = peak > 0 and percent(gbps / peak) or ("%d"):format(number.whole(gbps))
        return shown, gbps / full_gbps, "s1", note(point)
    end
    local function gain(point)
        local over = digest.gain(point) - 1
        return over > -1 and percent(over) or "-", over, "s2", note(point)
    end
    local function template(point)
        local k = numbers[point.family]
        return ("%d"):format(k), 0.85, "s" .. (k - 1) % 6 + 1, note(point)
    end
    return figure(peak > 0 and "of the bus, %" or "GB/s",
                  chart.plane(plane, "bandwidth, " .. title, bandwidth))
        .. "\n" .. figure("gain over the default, %", chart.plane(plane, "gain, " .. title, gain))
        .. "\n" .. figure("template: " .. key,
                          chart.plane(plane, "templates, " .. title, template))
end

return maps
