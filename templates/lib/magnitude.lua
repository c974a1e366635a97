-- Magnitude: the absolute value of a dtype's value.
return function(dtype, x)
    if dtype.kind == "unsigned" then return x end
    if dtype.kind == "float" then
        return ("%s(%s)"):format(dtype.value == "double" and "fabs" or "fabsf", x)
    end
    return ("(%s < 0 ? -%s : %s)"):format(x, x, x)
end
