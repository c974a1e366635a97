-- The template families, best first: the first that has a problem gives its built-in default. Those
-- aside are there to be looked at: neither the tuner nor a plan ever chooses them.
return { "block", aside = { "ladder" } }
