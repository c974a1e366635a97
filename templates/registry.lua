-- The template families, best first: the first that has a problem gives its built-in default.
return { "block" }
