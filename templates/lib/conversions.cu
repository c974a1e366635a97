//@ -- The functions that reading an element and writing the results need.
//@ if given.conversions ~= "" then
@{given.conversions}
//@ end
