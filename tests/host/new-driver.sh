#!/bin/sh
# A driver in a project outside the tree: made, checked, booted and changed as docs/src/how-to/write-a-driver.md says, then with
# what goes wrong.
set -u
ashlar=$PWD/ashlar
page=$PWD/docs/src/how-to/write-a-driver.md
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" && ln -s "$ashlar" "$folder/bin/ashlar"
PATH=$folder/bin:$PATH
said=$folder/said
cd "$folder" || exit 1

fail() { echo "$1"; cat "$said"; exit 1; }
# status N COMMAND...: runs it, with this exit status.
status() {
    wanted=$1 && shift
    "$@" >"$said" 2>&1
    got=$?
    [ "$got" = "$wanted" ] || fail "status $got instead of $wanted: $*"
}
says() { grep -qE -- "$1" "$said" || fail "it does not say: $1"; }
# refuses NAME WHY: no driver is called so, and nothing is made or changed.
refuses() {
    find . -type f ! -path './build/*' -exec sha256sum {} + | sort >"$folder/before"
    status 2 ashlar new driver "$1"
    says "$2"
    [ "$(grep -c '^ashlar: ' "$said")" = 1 ] || fail "more than one error"
    find . -type f ! -path './build/*' -exec sha256sum {} + | sort | cmp -s - "$folder/before" || fail "something was made"
}

# ---- made, checked, booted ----
status 2 ashlar new driver factorial
says 'no project around this folder'
says 'ashlar new PROJECT'
status 0 ashlar new weather
cd weather || exit 1
status 2 ashlar drivers verify
says 'the project has no driver; `ashlar new driver NAME` makes one'
status 0 ashlar new driver factorial
says 'next: ashlar drivers verify && ashlar run factorial'
status 0 ashlar check factorial
cd src || exit 1
status 0 ashlar drivers verify
says 'factorial: 5[0-9] checks'
says 'factorial_client: 1[0-9] checks'
says '^7[0-9] proved, 0 violated, 0 unknown$'
says ' src/factorial/factorial.c:[0-9]+'
cd ..
status 0 ashlar test factorial
says '^1 passed'
status 0 ashlar run factorial --headless --until up --timeout 100
says 'RIGHT 0! to 12!, the last is 479001600'
[ -e "${ashlar%/ashlar}/build/protocols/factorial_protocol.h" ] && fail "the tree has the project's protocol"

# ---- one driver by its name; the tree's by theirs; none of that name ----
status 0 ashlar drivers verify factorial_client
says '^1[0-9] proved'
status 0 ashlar drivers verify rtl8139 --rule 5
says '^rtl8139: '
status 2 ashlar drivers verify factorail
says 'there is no driver or service called factorail; there are factorial, '

# ---- a driver that leaves a message out is found before it runs, one with a wrong idea of its device when it runs ----
cp src/factorial/factorial.c good.c
sed -i 's/PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR, FACT/PCI_REMOVE, PCI_BUS_ERROR, FACT/' src/factorial/factorial.c
status 1 ashlar drivers verify factorial
says '^VIOLATED rule [23] '
says '^ *src/factorial/factorial.c:[0-9]+ '
sed 's/write32(FACTORIAL, operand)/write32(FACTORIAL, operand \/ 2u)/' good.c >src/factorial/factorial.c
status 0 ashlar drivers verify factorial
status 1 ashlar test factorial
says 'WRONG 2! = 2, and not 1'
sed 's/EMIT(FACTORIAL_COMPUTED, cookie, &body)/EMIT(FACTORIAL_COMPUTED, cookie + 1u, \&body)/' good.c >src/factorial/factorial.c
status 1 ashlar drivers verify factorial
says '^VIOLATED rule 6 '
grep -q 'does not agree' "$said" && fail "the monitor does not see the wrong cookie"
status 1 ashlar test factorial
says '^factorial said what it must not: MONITOR factorial: !computed in state Busy'
cp good.c src/factorial/factorial.c

# ---- flags of the build are those of the check ----
cp ashlar.toml good.toml
printf '#ifdef DEAF\n#define NO_LISTENING 1\n#else\n#define NO_LISTENING 0\n#endif\n' >>src/factorial/registers.h
sed -i 's/^    EMIT(PCI_IRQ_ON);$/    if (!NO_LISTENING) {\n        EMIT(PCI_IRQ_ON);\n    }/' src/factorial/factorial.c
status 0 ashlar drivers verify factorial --rule 1
sed -i 's|sources = \["src/factorial"\]|&\nflags = ["-DDEAF"]|' ashlar.toml
status 1 ashlar drivers verify factorial --rule 1
says '^VIOLATED rule 1 '
cp good.toml ashlar.toml && cp good.c src/factorial/factorial.c

# ---- a protocol with a fault, one that is gone, one with a name that is taken ----
cp protocols/factorial.proto good.proto
sed -i 's/^  !failed -> Idle/  !faled -> Idle/' protocols/factorial.proto
for verb in 'check factorial' 'build factorial'; do
    # shellcheck disable=SC2086
    status 1 ashlar $verb
    says 'ASH-P005'
    says 'did you mean `failed`'
done
status 2 ashlar drivers verify
says 'ASH-P005'
says '^ashlar: nothing was checked, for the reason above'
sed 's/^protocol factorial 15/protocol factorial/' good.proto >protocols/factorial.proto
status 1 ashlar check factorial
says 'ASH-P022'
says 'the protocol `factorial` has no number'
mv protocols/factorial.proto protocols/pci.proto && sed 's/^protocol factorial/protocol pci/' good.proto >protocols/pci.proto
status 1 ashlar check factorial
says '`pci` is a protocol of Ashlar'
rm protocols/pci.proto
status 1 ashlar build factorial
says 'factorial_protocol.h: No such file'
cp good.proto protocols/factorial.proto
status 0 ashlar build factorial

# ---- limits ----
sed 's/^protocol factorial 15/protocol factorial 16/' good.proto >protocols/factorial.proto
status 1 ashlar check factorial
says "the protocol's number is 16, and not one of 1 to 15"
cp good.proto protocols/factorial.proto
mailboxes=$(for i in 1 2 3 4 5 6 7 8 9 10 11; do printf 'PCI_IRQ, PCI_UNPLUG, PCI_REMOVE, PCI_SUSPEND, PCI_BUS_ERROR, PCI_RESUME, '; done)
sed "s/AWAIT(PCI_REMOVE, PCI_UNPLUG, FACT/AWAIT($mailboxes FACT/" good.c >src/factorial/factorial.c
status 1 ashlar build factorial
says 'an AWAIT waits for at most 64 mailboxes'
status 2 ashlar drivers verify factorial
says 'src/factorial/factorial.c:[0-9]+: .*64 at most'
cp good.c src/factorial/factorial.c

# ---- a request of its own: the page's changes, file by file, then mistakes in them ----
# apply FILE...: makes the page's changes to these files.
apply() {
    for file in "$@"; do
        awk -v file="$file" '/^```/ { on = 0 } /^--- a\// { on = $2 == "a/" file } on' "$page" >"$folder/change"
        [ -s "$folder/change" ] || fail "the page does not change $file"
        git apply "$folder/change" || fail "the page's change to $file does not fit"
    done
}
mkdir "$folder/good" && cp -r protocols src tests "$folder/good"
apply protocols/factorial.proto
status 0 ashlar check factorial
status 1 ashlar drivers verify factorial
[ "$(grep -c '^  rule 3: .*`factorial check` is enabled and not waited for' "$said")" = 3 ] || fail "other AWAITs than the page says"
says '^  rule 2: `factorial check` is enabled for ever'
apply src/factorial/registers.h src/factorial/factorial.c src/factorial_client/factorial_client.c tests/factorial.toml
status 0 ashlar drivers verify factorial factorial_client
status 0 ashlar test factorial
cp src/factorial/factorial.c changed.c
# mistake SAYS: what is said of the driver as it stands, which is mended then.
mistake() {
    cmp -s src/factorial/factorial.c changed.c && fail "no mistake: $1"
    status 1 ashlar drivers verify factorial
    says "$1"
    cp changed.c src/factorial/factorial.c
}
sed -i '/EMIT(FACTORIAL_CHECKED/d' src/factorial/factorial.c
mistake '^  rule 4: `factorial` stays in timed state Checking for ever: .* \(`checked` or `failed`\) is not sent'
says '^    factorial: !checked in Checking$'
sed -i '/case FACTORIAL_CHECK:/{n;s/fail(COOKIE(), NO_DEVICE)/check()/}' src/factorial/factorial.c
at=$(grep -n 'write32(LIVENESS' changed.c | cut -d: -f1)
mistake "^    src/factorial/factorial.c:$at \| !access \| Unbound -> not enabled"
sed -i '/EMIT(FACTORIAL_CHECKED/p' src/factorial/factorial.c
mistake '^  rule 1: `factorial checked` is sent, which is not enabled in state Idle'
sed -i 's/EMIT(FACTORIAL_CHECKED, COOKIE/EMIT(FACTORIAL_CHECKD, COOKIE/' src/factorial/factorial.c
status 2 ashlar drivers verify factorial
says 'factorial.c:[0-9]+: `FACTORIAL_CHECKD` is not declared'
cp changed.c src/factorial/factorial.c
sed -i '/^out checked/{n;d}' protocols/factorial.proto
status 1 ashlar drivers verify factorial_client
says '^  rule 6: `factorial compute` is sent with the cookie of a `job` that is open already'
cp -r "$folder/good/." .

# ---- a request that waits for an interrupt with any cause: the page's functions; with another last line the checker does not know ----
awk '/^```/ { on = 0 } /^\/\* Waits until the device interrupts with one/ { on = 1 } on' "$page" >"$folder/raise.c"
cat >"$folder/raise.proto" <<'END'
in  raise
  opens job
  number    u8 1..15
out raised
  closes job
  causes    u32 0x2..0xfffe
END
sed -i -e "/^  factorial u32/r $folder/raise.proto" -e 's/^  ?compute -> Busy/&\n  ?raise -> Raising/' \
    -e '$a\state Raising timed\n  !raised -> Idle\n  !failed -> Idle' protocols/factorial.proto
sed -i 's/^#define STATUS 0x20u/#define RAISE 0x60u\n&/' src/factorial/registers.h
sed -i -e '/^\/\* Waits until the device has a factorial/,/^}/d' -e "/^static void compute(void)/{
r $folder/raise.c
N
}" -e 's/return (causes & INTERRUPT_FACTORIAL) != 0u;/return causes;/' \
    -e 's/await_factorial()/await_interrupt(INTERRUPT_FACTORIAL)/' -e 's/FACTORIAL_COMPUTE)/FACTORIAL_COMPUTE, FACTORIAL_RAISE)/' \
    -e 's/^    case FACTORIAL_COMPUTE:/    case FACTORIAL_RAISE:\n&/' \
    -e 's/^        return recover();/&\n    case FACTORIAL_RAISE:\n        raise();\n        return RUNNING;/' src/factorial/factorial.c
status 0 ashlar drivers verify factorial
status 0 ashlar test factorial
cp src/factorial/factorial.c raise.c
at=$(grep -n 'EMIT(FACTORIAL_RAISED' raise.c | cut -d: -f1)
sed -i 's/return is_armed ? causes : 0u;/return (causes \& wanted) != 0u ? causes : 0u;/' src/factorial/factorial.c
status 1 ashlar drivers verify factorial
says '^UNKNOWN  rule 7  factorial    payload of raised'
says "^    src/factorial/factorial.c:$at: neither proved nor refuted: whether .causes. of .factorial raised. is always 2 to 65534$"
says '^    what may help: write `if` in place of `\? :`'
sed 's/return is_armed ? causes : 0u;/if ((causes \& wanted) == 0u) {\n        return 0;\n    }\n    return causes;/' raise.c >src/factorial/factorial.c
status 0 ashlar drivers verify factorial
cp -r "$folder/good/." . && rm raise.c

# ---- a second driver, whose protocol has another number; one driver for both, if they had the same ----
status 0 ashlar new driver other
grep -q '^protocol other 14$' protocols/other.proto || fail "the number of the second protocol"
status 0 ashlar drivers verify other
status 0 ashlar test other
sed -i 's/^protocol other 14/protocol other 15/' protocols/other.proto
status 0 ashlar drivers verify other
sed -i 's/^#include "other_protocol.h"/#include "factorial_protocol.h"\n&/' src/other/other.c
status 2 ashlar drivers verify other
says 'speaks `factorial` and `other`, which both have the number 15'

# ---- what `new driver` refuses ----
for name in Factorial fact-orial 1st 'two words' '' ../up abcdefghijklmnop; do
    refuses "$name" 'cannot be the name of a driver'
done
for name in bus client kernel pit; do
    refuses $name 'its system has something else of that name'
done
refuses factorial 'has a program `factorial` already'
refuses ahci '`ahci` is a program of Ashlar'
refuses timer '`timer` is a protocol of Ashlar'
refuses weather 'has a file systems/weather.toml already'
touch src/third
refuses third 'third'
printf '[program.x]\nsources = 3\n' >>ashlar.toml
find . -name 'fourth*' >"$said"
status 1 ashlar new driver fourth
says 'ASH-S'
[ -z "$(find . -name '*fourth*' -o -name '.ashlar.toml.new-*')" ] || fail "something is left"
exit 0
