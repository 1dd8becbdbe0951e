#!/bin/sh
# A project whose program is a Rust crate: made, run and tested as docs/src/how-to/programs-in-rust.md says, then with what
# goes wrong. Nothing is taken from the network.
set -u
ashlar=$PWD/ashlar
tree=$PWD
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/a place" && ln -s "$ashlar" "$folder/bin/ashlar"
PATH=$folder/bin:$PATH
CARGO_NET_OFFLINE=true
export CARGO_NET_OFFLINE
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
# refused CODE TEXT: the build is refused with one error of this code, and this text.
refused() {
    status 1 ashlar build
    says "$1: the program .sensor. cannot be built:.*$2"
    [ "$(grep -c 'ASH-U' "$said")" = 1 ] || fail "it is not one error"
}

# ---- make, check, run, test ----
status 0 ashlar new weather --language rust
cd weather || exit 1
status 0 ashlar check
says 'weather.toml: no faults'
status 0 ashlar run --headless --until up --timeout 100
says 'MEAN 45 of the last 10 readings'
status 0 ashlar test
says '^ok +unit-sensor '
says '^2 passed, 0 failed, 0 skipped$'
sed -i 's/checked_div(self.count as u64)/checked_div(1 + self.count as u64)/' src/sensor/src/lib.rs
status 1 ashlar test unit
says 'the_last_readings_count'
sed -i 's/checked_div(1 + self.count as u64)/checked_div(self.count as u64)/' src/sensor/src/lib.rs

# ---- a change is seen, and nothing is built twice ----
program=build/programs/sensor.elf
status 0 ashlar build
before=$(stat -c %Y.%y "$program")
status 0 ashlar build
[ "$(stat -c %Y.%y "$program")" = "$before" ] || fail "it is copied again although nothing has changed"
sed -i 's/"MEAN /"AVERAGE /' src/sensor/src/main.rs
status 0 ashlar build
grep -q AVERAGE "$program" || fail "a change is not seen"
sed -i 's/"AVERAGE /"MEAN /' src/sensor/src/main.rs
sed -i 's/^fn reading/fn unused() {}\n&/' src/sensor/src/main.rs
status 0 ashlar build
says 'function `unused` is never used'
sed -i '/^fn unused/d' src/sensor/src/main.rs

# ---- the client of a driver in C, by a protocol of the project: the program of the book's page ----
cp -r . "$folder/speaker" && cd "$folder/speaker" || exit 1
status 0 ashlar new driver factorial
mkdir -p src/asker/src && sed 's/"sensor"/"asker"/; /^test = /d; /^bench = /d' src/sensor/Cargo.toml >src/asker/Cargo.toml
echo 'protocols = { path = "../../.ashlar/protocols" }' >"$folder/dependency"
sed -i "/^ashlar = /r $folder/dependency" src/asker/Cargo.toml
{
    printf '#![no_std]\n#![no_main]\n#![forbid(unsafe_code)]\nashlar::entry!(main);\n'
    sed -n '/^use ashlar::mailbox/,/^```/p' "$tree/docs/src/how-to/programs-in-rust.md" | sed '/^```/d'
} >src/asker/src/main.rs
sed -i 's|"src/sensor"|&, "src/asker"|' Cargo.toml
printf '\n[program.asker]\ncrate = "src/asker"\n' >>ashlar.toml
sed -i 's/^program = "factorial_client"/program = "asker"/' systems/factorial.toml
status 0 ashlar run factorial --headless --until '^120$|probe_ok$' --timeout 100
# Fields follow the protocol, and a protocol that is gone is gone from the crate.
sed -i 's/0\.\.12/0..4/' protocols/factorial.proto
status 1 ashlar run factorial --headless --until '^120$|probe_ok$' --timeout 10
says 'error: ERR_BAD_ARGUMENT'
sed -i 's/^  operand /  number /' protocols/factorial.proto
status 1 ashlar build factorial
says 'Compute` has no field named `operand`'
rm protocols/factorial.proto
status 1 ashlar build factorial
says 'ASH-U010: the program `asker` cannot be built'
cd "$folder/a place/weather" || exit 1

# ---- the link is mended, and made where the project is cloned ----
ln -sfn /nowhere .ashlar/rust
status 0 ashlar check
[ "$(readlink .ashlar/rust)" = "$tree/user/rust" ] || fail "the link is not mended"
rm .ashlar/rust
status 0 ashlar build

# ---- a panic says its place, and is exit code 125 ----
cp -r src good
sed -i 's/^    let mut mean/    assert_eq!(period.as_millis(), 7, "the period");\n&/' src/sensor/src/main.rs
status 1 ashlar run --headless --until up --timeout 10
says 'panic at src/sensor/src/main.rs:[0-9]+: assertion .left == right. failed: the period'
rm -rf src && cp -r good src

# ---- what is wrong with a crate is one error with a way out, and the others are built ----
printf '\n[program.other]\nsources = ["src/other.c"]\n' >>ashlar.toml
printf '\n[process.zother]\nprogram = "other"\n' >>systems/weather.toml
mkdir -p good && echo 'int main(void) { return 0; }' >good/other.c
restore() { rm -rf src build/programs/other.elf && cp -r good src; }

restore
sed -i 's/due += period/due += periods/' src/sensor/src/main.rs
refused ASH-U010 ''
says '^ *--> src/sensor/src/main.rs:[0-9]+:'
[ -f build/programs/other.elf ] || fail "the other program is not built"

restore
echo 'fn main() { println!("hello"); }' >src/sensor/src/main.rs
refused ASH-U009 'it needs std'
says 'remedy: write `#!.no_std.`'
[ "$(wc -l <"$said")" -lt 20 ] || fail "the linker's hundreds of lines are shown"

restore
mkdir -p src/talker/src
printf '[package]\nname = "talker"\nversion = "0.1.0"\nedition = "2021"\n' >src/talker/Cargo.toml
echo 'pub fn word() -> String { String::from("a") }' >src/talker/src/lib.rs
echo 'talker = { path = "../talker" }' >"$folder/dependency"
sed -i "/^ashlar = /r $folder/dependency" src/sensor/Cargo.toml
sed -i 's/^    let mut mean/    println!("{}", talker::word());\n&/' src/sensor/src/main.rs
refused ASH-U009 '`talker` needs std'

restore
sed -i 's/^ashlar::entry.*//' src/sensor/src/main.rs
sed -i 's/^fn main/#[panic_handler]\nfn panicked(_: \&core::panic::PanicInfo) -> ! { loop {} }\n#[allow(dead_code)]\n&/' \
    src/sensor/src/main.rs
refused ASH-U007 'it names no function to start with'

restore
sed -i '/^\[\[bin/,/^$/d' src/sensor/Cargo.toml && rm src/sensor/src/main.rs
refused ASH-U007 'its crate has no program'

restore
mkdir src/sensor/src/bin && sed -i '/^\[\[bin/,/^$/d' src/sensor/Cargo.toml && cd src/sensor/src || exit 1
sed 's/^/ /' main.rs >bin/one.rs && mv main.rs bin/two.rs && cd ../../.. || exit 1
refused ASH-U007 'several programs, one, two'

restore
cp -rL .ashlar/rust src/old && sed -i 's/^version = .*/version = "0.0.9"/' src/old/Cargo.toml
sed -i 's|^ashlar = .*|ashlar = { path = "../old" }|' src/sensor/Cargo.toml
refused ASH-U008 'it uses the crate `ashlar` 0.0.9 of .*/src/old'
says 'remedy: write `ashlar = . path = "PATH/.ashlar/rust" .`'

restore
sed -i 's|^ashlar = .*|ashlar = { path = "../../.ashlar/rust", version = "9" }|' src/sensor/Cargo.toml
refused ASH-U008 'cargo does not find the crate'

restore
sed -i 's|^ashlar = .*||' src/sensor/Cargo.toml
refused ASH-U008 'does not depend on the crate `ashlar`'

restore
sed -i 's|crate = .*|crate = "."|' ashlar.toml
refused ASH-U007 'that of a workspace alone'
sed -i 's|crate = .*|crate = "src/sensor"|' ashlar.toml

restore
echo '[package' >>src/sensor/Cargo.toml
refused ASH-U010 ''
says 'src/sensor/Cargo.toml'

restore
ASHLAR_ROOT=$tree ASHLAR_CARGO=/nowhere status 2 "$tree/tools/target/release/ashlar" build
says 'Rust 1.85 or newer'
status 0 ashlar build

# ---- what is wrong in ashlar.toml ----
sed -i 's|crate = .*|crate = "src"\n[program.b]\ncrate = "src/sensor"\nflags = ["-O1"]\n[program.c]\ncrate = "../x"|' ashlar.toml
status 1 ashlar check
for code in U002 U003 U004; do says "ASH-$code"; done
says '3 faults found'
exit 0
