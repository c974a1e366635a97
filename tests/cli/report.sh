# redtune report, on what the simulated GPU has measured.
. "${BASH_SOURCE%/*}/check.sh"

# is_a_page FILE: well-formed XML by another parser than ours, below a megabyte, nothing that runs
# or is loaded, except one script, whose hash the page names so that browsers run no other.
is_a_page() {
    python3 - "$1" <<'PY' || fail "$1 is no page as it should be"
import base64, hashlib, os, sys
import xml.etree.ElementTree as tree
assert os.path.getsize(sys.argv[1]) < 1000000
scripts = []
for element in tree.parse(sys.argv[1]).iter():
    if element.tag.endswith("}script"):
        scripts.append(base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode())
    if element.get("http-equiv") == "Content-Security-Policy":
        allowed = element.get("content")
    for name, value in element.attrib.items():
        assert not name.startswith("on") and name != "src", name
        assert name != "href" or value.startswith("#"), value
assert len(scripts) == 1 and f"script-src 'sha256-{scripts[0]}'" in allowed, (scripts, allowed)
PY
    ! grep -q "url(\|@import\|https\?://[^w]" "$1" || fail "$1 loads something"
}

tune() {
    run "$redtune" --device sim --op sum --dtype f32 --size 32,64 --db tuning.db -q
    want_exit 0
}

a_page_is_written() {
    run "$redtune" report --db tuning.db -o page.html
    want_exit 0
    want_no_out
    want_no_err
    is_a_page page.html
    grep -q "redtune simulated GPU" page.html || fail "the GPU is not named"
    [ "$(stat -c %a page.html)" = "$(printf %o $((0666 & ~$(umask))))" ] || fail "odd permissions"
    run "$redtune" report --db tuning.db
    want_exit 0
    cmp -s stdout page.html || fail "standard output gets another page"
    # Neither a GPU nor a driver is needed.
    REDTUNE_CUDA_DRIVER=/nowhere run "$redtune" report --db tuning.db -o -
    want_exit 0
    cmp -s stdout page.html || fail "without a driver it is another page"
}

a_ladder_is_climbed_where_a_device_is_named() {
    run "$redtune" report --db tuning.db --device sim -o ladder.html
    want_exit 0
    want_no_err
    is_a_page ladder.html
    grep -q "3b neighbours" ladder.html || fail "no ladder"
}

tables_and_json_are_read_by_others() {
    run "$redtune" report --db tuning.db --csv
    want_exit 0
    cp stdout table.csv
    run "$redtune" report --db tuning.db --json
    want_exit 0
    python3 - stdout table.csv <<'PY' || fail "not what it should be"
import csv, json, sys
report = json.load(open(sys.argv[1]))
rows = list(csv.DictReader(open(sys.argv[2])))
assert [w["count"] for w in report["winners"]] == [int(row["count"]) for row in rows]
assert [w["config"] for w in report["winners"]] == [row["config"] for row in rows]
cold = [row for row in rows if row["l2"] == "cold"]
sizes = [int(row["count"]) for row in cold]
assert sizes == sorted(sizes) and {32, 64} <= set(sizes)
assert all(float(row["gbps"]) > 0 and row["op"] == "sum" for row in rows)
best = report["candidates"][0]["median_ns"]
assert all(c["median_ns"] >= best for c in report["candidates"])
PY
}

what_makes_no_sense_is_refused() {
    run "$redtune" report --db tuning.db --csv --json
    want_refused 2 "--csv and --json ask for two formats"
    run "$redtune" report --db tuning.db --op max
    want_refused 2 "--op, --dtype and --axis choose a problem together with --size or --shape"
    run "$redtune" report --db tuning.db --count 5
    want_refused 2 "sum of 5 elements: the database has no such problem"
    run "$redtune" report --db tuning.db --gpu "NVIDIA None"
    want_refused 2 "'NVIDIA None'"
    run "$redtune" report --db none.db
    want_refused 2 "nothing is measured in none.db yet"
}

a_report_that_fails_leaves_the_old_one() {
    echo old >kept.html
    run "$redtune" report --db none.db -o kept.html
    want_exit 2
    [ "$(cat kept.html)" = old ] || fail "the old report is gone"
    run "$redtune" report --db tuning.db -o nowhere/page.html
    want_refused 1 "cannot write nowhere/page.html"
    [ -z "$(ls -A | grep '\.html\.')" ] || fail "something is left beside it"
}

check_run tune a_page_is_written a_ladder_is_climbed_where_a_device_is_named \
    tables_and_json_are_read_by_others what_makes_no_sense_is_refused \
    a_report_that_fails_leaves_the_old_one
