-- The template families that are tuned, best first: the first that has a problem gives its built-in
-- default. Folders that are not named here, such as ladder and naive, hold families that are asked
-- for by name: neither the tuner nor a plan ever chooses them.
return {
    "block", "short", "staged", "rows", "thin", "skewed", "columns", "tiled", "grouped", "ragged", "ordered",
    "ordered_rows", "ordered_columns", "ordered_segments", "strided", "ordered_strided",
    "keyed", "reordered",
}
