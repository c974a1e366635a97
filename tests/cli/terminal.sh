# redtune tune, as people see it: on a terminal, and where there is none.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/check.sh"
. "$here/facts.sh"
command -v python3 >/dev/null || { echo "skipped: no python3" >&2; exit 77; }
export TERM=xterm
unset NO_COLOR

tune=("$redtune" --device sim --dtype f64 --size 64,96,128 --effort quick --db tuned.db)

# fresh COMMAND...: measures everything; without, a tune finds it all in the database.
fresh() {
    rm -f tuned.db*
    "$@"
}

# on_pty STREAM COLUMNS COMMAND...: runs it with stdout or stderr on a terminal that is so wide, and what
# that gets, byte by byte, in the file `terminal`.
on_pty() {
    python3 - "$@" <<'PY'
import fcntl, os, struct, subprocess, sys, termios
mine, terminal = os.openpty()
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 25, int(sys.argv[2]), 0, 0))
process = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, **{sys.argv[1]: terminal})
os.close(terminal)
with open("terminal", "wb") as seen:
    while True:
        try:
            piece = os.read(mine, 65536)
        except OSError:
            break
        if not piece:
            break
        seen.write(piece)
sys.exit(process.wait())
PY
}

# watch COLUMNS COMMAND...: runs it with stderr on a terminal that is so wide, and what that gets,
# byte by byte, in stderr.
watch() {
    ran=$*
    on_pty stderr "$@" >stdout
    code=$?
    mv terminal stderr
    out=$(cat stdout)
    err=$(cat stderr)
}

# on_terminal_of COLUMNS COMMAND...: what it prints where stdout is a terminal that is so wide.
on_terminal_of() {
    local status=0
    on_pty stdout "$@" || status=$?
    sed 's/\r$//' terminal
    return $status
}

# want_progress COLUMNS: stderr is one line that was rewritten and erased, then the summary,
# broken between words.
want_progress() {
    python3 - "$1" 2>why <<'PY' || fail "$(tail -n 1 why)"
import re, sys
columns, problems = int(sys.argv[1]), 3
seen = open("stderr", newline="").read()
line, erased, after = seen.rpartition("\r\033[K")
assert erased, "the line is not erased"
summary = after.removesuffix("\r\n").split("\r\n")
assert re.fullmatch(r"redtune: 3 problems, [^\033\r\n]*", " ".join(summary)), "after the line: %r" % after
assert all(len(each) <= columns or " " not in each for each in summary), "a wide summary: %r" % after
assert "\n" not in line, "the line moves on: %r" % line
drawn = re.findall(r"\r([^\r\033]*)\033\[K", line)
assert "".join("\r%s\033[K" % each for each in drawn) == line, "more than redrawn lines: %r" % line
assert len(drawn) >= problems, "drawn %d times" % len(drawn)
assert max(map(len, drawn)) < columns, "wider than the terminal"
form = re.compile(r"\[(#*)(-*)\] (\d+)/3((?:, (?:\d+ m )?\d+ s left)?): sum of (\d+) f64, "
                  r"(\w+) \d+/\d+((?:, best \d+\.\d GB/s)?)")
at, left, best, before = [], 0, 0, 0
for each in drawn:
    if columns < 100:
        assert form.fullmatch(each) or len(each) == columns - 1, each
        continue
    fields = form.fullmatch(each)
    assert fields, each
    at.append(int(fields[3]))
    full = len(fields[1])
    assert len(fields[1] + fields[2]) == 10, each
    assert (at[-1] - 1) * 10 // problems <= full <= at[-1] * 10 // problems, each
    assert full >= before, "the bar goes back: " + each
    before = full
    # Last, some problems are looked at once more, and sizes between two.
    assert fields[5] == "64 96 128".split()[at[-1] - 1] or at[-1] == problems, each
    assert 64 <= int(fields[5]) <= 128, each
    assert fields[4] or at[-1] in (1, problems), "no time left: " + each
    left += bool(fields[4])
    best += bool(fields[7])
if columns >= 100:
    assert at == sorted(at) and at[0] == 1 and at[-1] == problems, at
    assert left and best, drawn
PY
}

a_terminal_has_one_line_that_is_rewritten() {
    fresh watch 120 "${tune[@]}"
    want_exit 0
    want_progress 120
    [ "$(grep -c '^sum ' stdout)" -eq 3 ] || fail "not three rows"
    cp stdout table
}

the_bar_of_a_single_problem_moves() {
    fresh watch 120 "${tune[@]}" --size 2K
    want_exit 0
    [ "$(tr '\r' '\n' <stderr | grep -o '^\[[-#]*\]' | sort -u | wc -l)" -ge 4 ] ||
        fail "it has less than four lengths"
}

a_line_of_several_gpus_names_the_one_at_hand() {
    fresh watch 120 env REDTUNE_SIM_DEVICES=2 REDTUNE_CUDA_DRIVER="${redtune%/*}/libredtune-sim.so" \
        "$redtune" --device all --dtype f64 --size 64,96,128 --effort quick --db tuned.db
    want_exit 0
    tr '\r' '\n' <stderr | grep '^\[[-#]*\] ' | grep -v ', start ' >drawn
    [ "$(grep -c ': sum of [0-9]* f64 on GPU [01], ' drawn)" -gt 2 ] || fail "no GPU is named"
    ! grep -v ': sum of [0-9]* f64 on GPU [01], ' drawn || fail "not every line names its GPU"
}

a_narrow_terminal_has_a_shorter_line() {
    fresh watch 40 "${tune[@]}" --json
    want_exit 0
    want_progress 40
    cp stdout json
}

# want_plain: a line per problem, and the summary.
want_plain() {
    tr -d '\r' <stderr >plain
    [ "$(wc -l <plain)" -eq 4 ] || fail "not four lines"
    for i in 1 2 3; do
        grep -q "^redtune: $i/3 sum of [0-9]* f64: [0-9.]* us, [0-9.]* GB/s" plain ||
            fail "no line for problem $i"
    done
    ! grep -q $'\033' plain || fail "an escape sequence"
}

without_a_terminal_each_problem_has_a_line() {
    fresh run "${tune[@]}"
    want_exit 0
    want_plain
    ! grep -q $'\r' stderr || fail "a line is rewritten"
    cmp -s stdout table || fail "the table is another beside a terminal"
    watch 120 env TERM=dumb "${tune[@]}"
    want_exit 0
    want_plain
}

quiet_is_silent() {
    fresh run "${tune[@]}" --quiet --json
    want_exit 0
    want_no_err
    cmp -s stdout json || fail "the JSON is another beside a terminal"
    python3 -m json.tool json >/dev/null || fail "no JSON"
    fresh watch 120 "${tune[@]}" --quiet
    want_exit 0
    want_no_err
}

stdout_says_the_same_on_a_terminal() {
    for format in --quiet "--quiet --json"; do
        # shellcheck disable=SC2086
        run "${tune[@]}" $format
        # shellcheck disable=SC2086
        on_terminal seen "${tune[@]}" $format || fail "it fails on a terminal"
        cmp -s <(tr -d ' \n' <stdout) <(tr -d ' \n' <seen) || fail "a terminal gets another text"
        [[ $format == *json ]] || [ -z "$(awk 'length > 80' seen)" ] || fail "it is wider than its terminal"
    done
}

# fits COLUMNS COMMAND...: what it prints on a terminal that is so wide has no wider line, but for
# lines that stand as they are, such as commands to copy.
fits() {
    on_terminal_of "$@" >seen
    awk -v most="$1" 'length > most && !/^  .*redtune |^ *For example/ {print; wide = 1} END {exit wide}' seen ||
        fail "wider than $1 columns"
}

a_narrow_terminal_has_narrow_lines() {
    for command in tune reduce report; do
        fits 80 "$redtune" "$command" --help
        run "$redtune" "$command" --help
        tr -s ' ,\n' '\n' <stdout >words
        tr -s ' ,\n' '\n' <seen | cmp -s - words || fail "a narrow terminal gets other words"
    done
    fits 70 "$redtune" --help
    on_terminal_of 100 "$redtune" tune --help >seen
    run "$redtune" tune --help
    cmp -s stdout seen || fail "a wide terminal gets another text"
}

messages_break_between_words() {
    run "$redtune" tune --op suum
    want_exit 2
    tr -s ' \n' '\n' <stderr >words
    watch 80 "$redtune" tune --op suum
    [ -z "$(awk 'length > 81' stderr)" ] || fail "wider than its terminal" # \r at the end
    tr -d '\r' <stderr | tr -s ' \n' '\n' | cmp -s - words || fail "a word is broken"
}

# No colour is used, asked for or not: only what erases the line steers the terminal.
nothing_is_coloured() {
    for variable in NO_COLOR=1 NO_COLOR= CLICOLOR_FORCE=1; do
        on_terminal seen env $variable "${tune[@]}"
        grep -q '^sum ' seen || fail "no table"
        sed $'s/\033\\[K//g' seen >rest
        ! grep -q $'\033' rest || fail "an escape sequence with $variable"
    done
}

check_run a_terminal_has_one_line_that_is_rewritten the_bar_of_a_single_problem_moves \
    a_line_of_several_gpus_names_the_one_at_hand \
    a_narrow_terminal_has_a_shorter_line \
    without_a_terminal_each_problem_has_a_line quiet_is_silent stdout_says_the_same_on_a_terminal \
    a_narrow_terminal_has_narrow_lines messages_break_between_words nothing_is_coloured
