#!/usr/bin/env bash
# What an installed redtune is tested with where PyTorch, CuPy, JAX and a GPU are: their tests,
# random calls against NumPy (agree.py; ../random_views.py, 2,000 of CuPy's views and as many of
# PyTorch's; ../random_keys.py, 20,000 by key of each), the host's time of a call (calls.py, launch.c), and a race with torch (race.py).
#
# Usage: run.sh [FOLDER]     figures go to FOLDER/python.*, and what matters of them to the output
set -u
export XLA_PYTHON_CLIENT_PREALLOCATE=false
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-.}
python3 "$here/calls.py" "$out" >"$out/python.calls" 2>&1
cat "$out/python.calls"
(cd "$here/.." && timeout 120 python3 -m unittest test_torch test_jax) >"$out/python.torch" 2>&1
tested=$?
tail -n 12 "$out/python.torch"
# Most of its time goes into compiling: each process has its own NVRTC.
seq 8 | timeout 200 xargs -P 8 -I{} python3 "$here/agree.py" 125 {} >"$out/python.agree" 2>&1
agreed=$?
cat "$out/python.agree"
for library in cupy torch; do
    seq 4 | timeout 200 xargs -P 4 -I{} python3 "$here/../random_views.py" --library $library \
        --calls 500 --seed {} --seconds 120 >"$out/python.views.$library" 2>&1 || agreed=1
    cat "$out/python.views.$library"
    timeout 200 python3 "$here/../random_keys.py" --library $library --calls 20000 --jobs 8 --seconds 120 \
        >"$out/python.keys.$library" 2>&1 || agreed=1
    cat "$out/python.keys.$library"
done
timeout 120 python3 "$here/race.py" 30 >"$out/python.race" 2>&1
# All lines are in the file: here those of some sizes, and where torch is faster.
awk '/^2\^(10|14|16|20|24|30) |^slowest|Error/ || $NF < 1' "$out/python.race"
for example in "$here"/../../../examples/python/*.py; do python3 "$example" 2>&1 | tail -n 4; done
exit $((tested || agreed))
