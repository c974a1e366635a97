//@ -- The functions that reading an element and writing the results need.
//@ takes given
//@ if given.conversions ~= "" then
@{given.conversions}
//@ end
