# redtune report of rows and columns, on databases of given measurements.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/check.sh"
. "$here/facts.sh"

# Rows of 4, 16 and 64 matrices by three numbers of columns, and an array of three dimensions.
make_plane() {
    [ ! -e plane.db ] || return
    local rows=$(config_of 1Kx4K 1) columns=$(config_of 4Kx1K 0) outer count
    for outer in 4 16 64; do
        for count in 1024 4096 16384; do
            echo "templates=here family=rows config=$rows outer=$outer count=$count median_ns=2000"
            echo "templates=here family=rows config=${rows/vec=*,unroll=/vec=1,unroll=}" \
                "outer=$outer count=$count median_ns=3000 is_default=1"
        done
    done >lines
    echo "templates=here family=columns config=$columns outer=8 count=512 inner=512 median_ns=9000" \
        >>lines
    facts plane.db <lines
}

matrices_are_maps() {
    make_plane
    run "$redtune" report --db plane.db
    want_exit 0
    python3 - <<'PY' || fail "not the maps of nine matrices"
import xml.etree.ElementTree as tree
page = tree.parse("stdout").getroot()
name = "{http://www.w3.org/1999/xhtml}"
section, = [s for s in page.iter(name + "section") if s.get("id") == "planes"]
maps = [svg for svg in section.iter(name + "svg")]
labels = [svg.get("aria-label") for svg in maps]
assert labels == [what + ", sum of f32 along axis 1" for what in ("bandwidth", "gain", "templates")], labels
for svg in maps:
    cells = list(svg.iter(name + "rect"))
    assert len(cells) == 9, len(cells)
    titles = [title.text for title in svg.iter(name + "title")]
    # 4 K elements and 4 results of 4 bytes in 2 us.
    assert any(t.startswith("4x1K axis 1: 2.00 us, 8.20 GB/s, 1.50\u00d7, rows ") for t in titles), titles
shown = [[t.text for t in svg.iter(name + "text") if "tiny" in t.get("class")] for svg in maps]
# 64 x 16 K elements of 4 bytes in 2 us, of a bus of 3352 GB/s; half as long again as the default.
assert shown[0][-1] == "63" and set(shown[1]) == {"50"} and set(shown[2]) == {"1"}, shown
PY
    want_in_out $'8x512x512 axis\xc2\xa01' # at which no line breaks
}

# A crossover lies between two sizes of the grid, and so alone in its column.
crossovers_are_not_in_maps() {
    local rows=$(config_of 1Kx4K 1) outer count
    for outer in 4 16 64 256 1024; do
        for count in 1024 2048 4096 8192 16384; do
            echo "templates=here family=rows config=$rows outer=$outer count=$count median_ns=9000"
        done
    done >lines
    echo "templates=here family=rows config=$rows outer=16 count=1536 median_ns=9000" >>lines
    facts crossover.db <lines
    run "$redtune" report --db crossover.db
    want_exit 0
    python3 - <<'PY' || fail "not the maps of 25 matrices"
import xml.etree.ElementTree as tree
name = "{http://www.w3.org/1999/xhtml}"
section, = [s for s in tree.parse("stdout").iter(name + "section") if s.get("id") == "planes"]
cells = [len(list(svg.iter(name + "rect"))) for svg in section.iter(name + "svg")]
assert cells == [25] * 3, cells
PY
    want_in_out $'16x1536 axis\xc2\xa01'
}

extents_are_in_tables_and_json() {
    make_plane
    run "$redtune" report --db plane.db --csv
    want_exit 0
    cp stdout table.csv
    run "$redtune" report --db plane.db --json --shape 16x4K --axis 1
    want_exit 0
    python3 - <<'PY' || fail "not the extents that were put in"
import csv, json
report = json.load(open("stdout"))
rows = list(csv.DictReader(open("table.csv")))
names = "layout", "count", "outer", "inner", "outer_step", "step"
found = [tuple(str(winner[name]) for name in names) for winner in report["winners"]]
assert found == [tuple(row[name] for name in names) for row in rows], found
assert len(found) == 10 and ("columns", "512", "8", "512", "262144", "512") in found, found
shown = report["candidates_of"]
assert (shown["layout"], shown["count"], shown["outer"]) == ("rows", 4096, 16), shown
assert len(report["candidates"]) == 2
PY
    run "$redtune" report --db plane.db --shape 16x5000 --axis 1
    want_refused 2 "sum of 16 x 5000 x 1 elements along axis 1: the database has no such problem"
    run "$redtune" report --db plane.db --axis 1
    want_refused 2 "choose a problem together with --size or --shape"
}

check_run matrices_are_maps crossovers_are_not_in_maps extents_are_in_tables_and_json
