#!/bin/sh
# A project outside the tree: made, run and tested as docs/src/how-to/your-own-system.md says, then with what goes wrong.
set -u
ashlar=$PWD/ashlar
folder=$(mktemp -d) && trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/a place" && ln -s "$ashlar" "$folder/bin/ashlar"
PATH=$folder/bin:$PATH
said=$folder/said
cd "$folder/a place" || exit 1

fail() { echo "$1"; cat "$said"; exit 1; }
# status N COMMAND...: runs it, with this exit status.
status() {
    wanted=$1 && shift
    "$@" >"$said" 2>&1
    got=$?
    [ "$got" = "$wanted" ] || fail "status $got instead of $wanted: $*"
}
says() { grep -qE -- "$1" "$said" || fail "it does not say: $1"; }

# ---- make, check, run, test, from inside and from elsewhere; the tree gets nothing but what all projects share ----
: >"$folder/begun"
status 0 ashlar new weather
status 0 ashlar check weather/
says 'weather.toml: no faults'
cd weather/src || exit 1
status 0 ashlar run --headless --until up --timeout 100
says 'MEAN 45 of the last 10 readings'
cd ..
[ -f build/systems/weather/system.img ] || fail "the image is not in the project"
[ -e "${ashlar%/ashlar}/build/systems/weather" ] && fail "the tree has the project's image"
status 0 ashlar test --list
says '^unit-mean '
says '^unit-prints '
says '^starts '
status 0 ashlar test --junit build/results/tests.xml
says '^3 passed, 0 failed, 0 skipped$'
grep -q 'tests="3" failures="0"' build/results/tests.xml || fail "no JUnit results"
status 0 ashlar test unit
says '^2 passed'
status 2 ashlar test nothing-like-it
says 'no test has such a name'

# ---- changes are seen, and nothing is compiled twice ----
object=build/programs/sensor/src/sensor/main.c.o
touch -d 2030-01-01 "$object" build/programs/sensor/src/sensor/mean.c.o
status 0 ashlar build
[ "$(date -r "$object" +%Y)" = 2030 ] || fail "main.c is compiled although nothing has changed"
sed -i 's/flags.*//; s|sources = .*|&\nflags = ["-DREADINGS=5u"]|' ashlar.toml && sed -i '/define READINGS/d' src/sensor/main.c
status 0 ashlar build
[ "$(date -r "$object" +%Y)" = 2030 ] && fail "new flags are not seen"
touch -d 2040-01-01 src/sensor/mean.h
status 0 ashlar -v build
says ' "src/sensor/mean.c"'
touch src/sensor/mean.h

# ---- what a build that was killed, or a machine that stopped, has left is made anew ----
: >build/programs/sensor.elf
status 0 ashlar check
status 0 ashlar run --headless --until up --timeout 100
: >"$object" && rm build/programs/sensor.elf
status 0 ashlar build
head -c 3000 build/programs/sensor.elf >half && mv half build/programs/sensor.elf && rm build/programs/sensor.list
status 0 ashlar check
status 0 ashlar build
[ "$(wc -c <build/programs/sensor.elf)" -gt 3000 ] || fail "half of a program is taken for all of it"

# ---- a test that fails says why; what is wrong with a program is one error, and the others are built ----
status 1 ashlar test starts
says 'has not said /\^MEAN 45'
printf '\n[program.other]\nsources = ["src/other.c"]\n' >>ashlar.toml
printf '\n[process.zother]\nprogram = "other"\n' >>systems/weather.toml
echo 'int main(void) { return nothing; }' >src/other.c
echo 'int sensor_is_built;' >>src/sensor/mean.c
rm build/programs/sensor.elf
status 1 ashlar build
says 'the program `other` cannot be built:'
says '^src/other.c:1:25: error: .nothing. undeclared'
[ -f build/programs/sensor.elf ] || fail "the other program is not built"

echo 'int helper(void) { return 0; }' >src/other.c
status 1 ashlar build
says 'the program `other` cannot be built: none of its files has the function `main`$'
says 'remedy: write `int main.void.`'
[ "$(wc -l <"$said")" -lt 9 ] || fail "the linker's lines are shown"

# ---- a file that is too large to be meant is not read ----
truncate -s 3G tests/large.toml
status 2 timeout 60 ashlar test
says 'tests/large.toml: it is larger than 1024 KiB'
rm tests/large.toml

# ---- finished programs ----
printf 'int main(void) { return 0; }\n' >src/other.c
status 0 ashlar build
cp build/programs/other.elf other.elf
sed -i 's|sources = ."src/other.c".|elf = "other.elf"|' ashlar.toml
status 0 ashlar check
echo 'int main(void) { return 0; }' | gcc -x c - -o other.elf
status 1 ashlar check
says 'ASH-S030'
gcc -no-pie -x c src/other.c -o other.elf
status 1 ashlar check
says 'it needs a dynamic'
gcc -static -nostdlib -no-pie -ffreestanding -e main -x c src/other.c -o other.elf
status 1 ashlar check
says 'ASH-S044'
says 'no note says that it was built for Ashlar'
objcopy --remove-section=.note.ashlar build/programs/sensor.elf other.elf 2>/dev/null
status 1 ashlar check
says 'ASH-S044'
strip -s build/programs/sensor.elf -o other.elf
status 0 ashlar check
echo 'no program' >other.elf
status 1 ashlar check
says 'not a usable program: it is no ELF file'
cp build/programs/sensor.elf other.elf && printf '\001' | dd of=other.elf bs=1 seek=4 conv=notrunc status=none
status 1 ashlar check
says 'not a usable program: it is not for x86-64'
cp build/programs/sensor.elf other.elf && printf '\267' | dd of=other.elf bs=1 seek=18 conv=notrunc status=none
status 1 ashlar check
says 'it is not for x86-64'
truncate -s 2G other.elf
status 1 ashlar check
says 'other.elf'
rm other.elf
status 1 ashlar check
says 'ASH-U003'
sed -i '/program.other/,$d' ashlar.toml && sed -i '/process.zother/,$d' systems/weather.toml

# ---- every fault of ashlar.toml at once ----
cp ashlar.toml good.toml
cat >ashlar.toml <<'PROJECT'
[project]
version = 2
[program.hello]
sources = ["src/sensor"]
[program.away]
sources = ["../elsewhere.c", "/etc/passwd"]
[program.gone]
sources = ["src/gone.c"]
include = ["src/gone"]
flags = ["-Wl,-z,execstack", "-mavx", "-DX=1"]
[program.both]
sources = ["src/sensor"]
elf = "good.elf"
[program.none]
[program.empty]
sources = []
PROJECT
status 1 ashlar check
for code in U001 U002 U003 U004 U005 U006; do says "ASH-$code"; done
says '11 faults found'
cp good.toml ashlar.toml

# ---- a project in a project; several systems; a link in a circle; an unknown system ----
status 0 ashlar new inner
(cd inner && ashlar check) >"$said" 2>&1 || fail "the inner project"
says 'inner.toml: no faults'
ln -s .. src/sensor/circle
cp systems/weather.toml systems/second.toml && sed -i '/^system =/d' ashlar.toml
status 2 ashlar check
says 'has several systems'
status 0 ashlar check second
status 2 ashlar check third
says 'has no system called third'

# ---- what `new` refuses, and what it leaves ----
cd .. && status 2 ashlar new weather
says 'is not empty'
for name in Weather wet.day 'wet day' . .. /; do
    status 2 ashlar new "$name"
    says 'cannot be the name of a project'
done
status 2 ashlar new gone/deep
mkdir empty && status 0 ashlar new empty
ln -s empty link && status 2 ashlar new link
says 'is not a folder'
if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod a-w locked
    status 2 ashlar new locked/inside
    says 'locked/inside cannot be made'
fi
[ -z "$(find . -name '.*.new-*')" ] || fail "something is left"
exit 0
