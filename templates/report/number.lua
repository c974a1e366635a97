-- Numbers as people read them.
local number = {}

-- Elements: the shortest exact form, with K, M and G for powers of 1024.
function number.count(n)
    local units = { { 1 << 40, "T" }, { 1 << 30, "G" }, { 1 << 20, "M" }, { 1 << 10, "K" } }
    for _, unit in ipairs(units) do
        if n >= unit[1] and n % unit[1] == 0 then return ("%d%s"):format(n // unit[1], unit[2]) end
    end
    return ("%d"):format(n)
end

function number.bytes(n)
    local units = { { 1 << 30, "GiB" }, { 1 << 20, "MiB" }, { 1 << 10, "KiB" } }
    for _, unit in ipairs(units) do
        if n >= unit[1] then return ("%.4g %s"):format(n / unit[1], unit[2]) end
    end
    return ("%d bytes"):format(n)
end

-- Three digits or so.
function number.short(x)
    if x ~= x or x >= 1e15 then return "-" end
    return x >= 100 and ("%.0f"):format(x) or x >= 10 and ("%.1f"):format(x) or ("%.2f"):format(x)
end

function number.us(ns)
    return number.short(ns / 1000)
end

function number.percent(part, whole)
    return whole > 0 and ("%.1f %%"):format(100 * part / whole) or "-"
end

-- How much longer or shorter: "+20.0 %".
function number.change(before, now)
    return before > 0 and ("%+.1f %%"):format(math.min(100 * (now / before - 1), 1e9)) or "-"
end

function number.gain(x)
    return x > 0 and ("%.2f×"):format(x) or "-"
end

function number.cuda(version)
    return version > 0 and ("%d.%d"):format(version // 1000, version % 1000 // 10) or "unknown"
end

-- The nearest whole number.
function number.whole(x)
    return (x + 0.5) // 1 | 0
end

-- Whole numbers with a narrow space between thousands, at which no line breaks.
function number.grouped(n)
    local text = ("%d"):format(n)
    local head = #text % 3
    local out = text:sub(1, head)
    for at = head + 1, #text, 3 do
        out = out .. (out ~= "" and "\u{202F}" or "") .. text:sub(at, at + 2)
    end
    return out
end

-- The day of a time in seconds since 1970, UTC (Richards, Mapping time, 1998).
function number.day(seconds)
    local f = seconds // 86400 + 2440588 + 1401
    f = f + (4 * (seconds // 86400 + 2440588) + 274277) // 146097 * 3 // 4 - 38
    local e = 4 * f + 3
    local h = 5 * (e % 1461 // 4) + 2
    local day, month = h % 153 // 5 + 1, (h // 153 + 2) % 12 + 1
    return ("%04d-%02d-%02d"):format(e // 1461 - 4716 + (14 - month) // 12, month, day)
end

return number
