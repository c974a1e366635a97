-- The algebra of an op of the user's: whether its identity changes nothing, and whether the order of
-- combining does. It is launched as the naive kernel; it is not tuned either, and no plan runs it.
return require "naive/family"
