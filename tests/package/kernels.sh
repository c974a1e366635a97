# What packaging/kernels.sh makes: of one architecture, at most a sixth of 4 MB once it is compressed, and what
# redtune takes for a kernel file. Usage: kernels.sh COMMAND SOURCES
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$2/packaging/kernels.sh" "$1" "$folder/kernels.db" 90
bytes=$(gzip -9 -c "$folder/kernels.db" | wc -c)
echo "$bytes bytes, compressed"
[ "$((6 * bytes))" -le 4000000 ]
REDTUNE_SYSTEM_KERNELS=$folder/kernels.db "$1" doctor | tee "$folder/found" | grep -A1 "kernel file" || true
grep -q "kernels of .* classes for sm_90" "$folder/found"
