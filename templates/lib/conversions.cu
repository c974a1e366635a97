//@ -- The functions that reading an element and writing the result need.
//@ local conversions = (require "lib/convert").functions(dtype, result)
//@ if conversions ~= "" then
@{conversions}
//@ end
