#!/bin/sh
# A trace of the default system is opened in speedscope in a headless Chromium, which must show a row for each processor and for each
# thread of the description. The picture, build/viewer.png, is to be looked at.
set -u
speedscope=$(npm root --global 2>/dev/null)/speedscope
if [ "${1:-}" = probe ]; then
    command -v chromium && command -v node && [ -f "$speedscope/dist/release/index.html" ]
    exit
fi
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
fail() { echo "$1"; cat "$folder/said"; exit 1; }
trace=$folder/trace.json
./ashlar trace three-linux --timeout 15 --output "$trace" >"$folder/said" 2>&1
[ -s "$trace" ] || fail "there is no trace"
node tests/host/viewer.mjs "$speedscope" "$trace" build/viewer.png >"$folder/said" 2>&1 || fail "the viewer"
for cpu in 0 1 2 3; do
    grep -qxF "processors (pid 1), CPU $cpu (tid $cpu)" "$folder/said" || fail "there is no row of CPU $cpu"
done
for thread in rt_server rt_client guest0 guest1 guest2; do
    grep -qE "^threads \(pid 2\), $thread \(tid [0-9]+\)$" "$folder/said" || fail "there is no row of $thread"
done
exit 0
