#!/bin/sh
# The live page on a terminal of 80 columns: drawn while the system runs, gone afterwards, the terminal as before.
set -u
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
escape=$(printf '\033')
fail() { echo "$1"; cat -v "$folder/$2"; exit 1; }

# on NAME STATUS COMMAND: runs it on a terminal, which it must leave as it was.
on() {
    # shellcheck disable=SC2016 # expanded by the shell on the terminal
    line='stty rows 24 columns 80; stty -g >"$FOLDER/before"; '$3'; echo "status $?"; stty -g >"$FOLDER/after"'
    FOLDER=$folder NO_COLOR=1 TERM=xterm script -qfec "$line" /dev/null >"$folder/$1" 2>&1 </dev/null
    grep -q "status $2" "$folder/$1" || fail "its status is not $2" "$1"
    cmp -s "$folder/before" "$folder/after" || fail "the terminal has other settings" "$1"
    grep -q "$escape\[?1049h" "$folder/$1" || fail "it is not the other screen" "$1"
    [ "$(grep -o "$escape\[?1049[hl]" "$folder/$1" | tail -n 1)" = "$escape[?1049l" ] || fail "the other screen stays" "$1"
}
shows() { tr '\r' '\n' <"$folder/$1" | grep -qE -- "$2" || fail "it does not show: $2" "$1"; }

on awaited 0 './ashlar run share --view --until up --timeout 100'
grep -q "$escape\[3[1-7]m" "$folder/awaited" && fail "colours in spite of NO_COLOR" awaited

# What is awaited does not come.
on late 1 './ashlar run budget --view --until NOTHING-LIKE-IT --timeout 8'
# Later pages are drawn over the first one where they differ, so that only words can be looked for; what pages look like
# as a whole is in the tests of tools/live.
shows late 'budget  up 0'
shows late 'CPU 0 '
shows late 'high_hog'
shows late ' 0 kernel '
shows late 'HEARTBEAT'

# A terminal that cannot be drawn on.
TERM=dumb script -qec './ashlar run budget --view' /dev/null >"$folder/dumb" 2>&1 </dev/null
grep -q 'cannot draw on this terminal' "$folder/dumb" || fail "a dumb terminal is not refused" dumb

# A signal ends the run while the page is there.
on killed 2 './ashlar run budget --view </dev/tty & until grep -q "1049h" "$FOLDER/killed" || ! kill -0 $!; do sleep 0.1; done; kill -TERM $!; wait $!'
exit 0
