# Facts: databases of given measurements, for the tests of what reads them; and a terminal.

# These tests are of a machine without a GPU, but for those that say which it has.
export REDTUNE_CUDA_DRIVER=/nowhere

# The version of the templates that this redtune has.
templates_here() {
    "$redtune" --device sim --op sum --dtype f32 --size 32 --effort quick --db here.db -q >/dev/null &&
        python3 -c 'import sqlite3
print(sqlite3.connect("here.db").execute("SELECT templates FROM origin").fetchone()[0])'
}

# facts DATABASE <LINES: makes it, or adds to it, as facts.py says; templates=here are today's.
facts() {
    [ -n "${today:-}" ] || today=$(templates_here)
    [ -e "$1" ] || { cp here.db "$1" && python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for table in "measurement", "gpu", "origin": db.execute("DELETE FROM " + table)
db.commit()' "$1"; }
    sed "s/templates=here/templates=$today/" | python3 "$here/facts.py" "$1"
}

# config_of SHAPE AXIS: the built-in default there.
config_of() {
    "$redtune" emit --shape "$1" --axis "$2" | sed -n '2s/^\/\/ //p'
}

# on_terminal FILE COMMAND...: runs it on a terminal of 80 columns, and writes what appears there,
# but for the carriage returns, to FILE.
on_terminal() {
    python3 - "$@" <<'PY'
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    # Here, before the program looks: the parent may come later.
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 80, 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
seen = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
open(sys.argv[1], "wb").write(seen.replace(b"\r\n", b"\n"))
sys.exit(code)
PY
}
