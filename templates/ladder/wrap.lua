-- Wrapping text for people into lines.
local wrap = {}

-- The text's words in lines of a comment, each of at most `width` characters.
function wrap.comment(text, width)
    local lines, line = {}, "//"
    for word in text:gmatch("%S+") do
        if #line + 1 + #word > width then
            lines[#lines + 1], line = line, "//"
        end
        line = line .. " " .. word
    end
    lines[#lines + 1] = line
    return table.concat(lines, "\n")
end

return wrap
