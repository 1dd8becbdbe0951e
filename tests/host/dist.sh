#!/bin/sh
# A distribution is packed and unpacked in another place; a project is made, run, changed and tested from it as
# docs/src/how-to/without-the-source-tree.md says, on a PATH without cargo, rustc and Coq.
set -u
tree=$PWD
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
said=$folder/said

fail() { echo "$1"; cat "$said"; exit 1; }
# status N COMMAND...: runs it, with this exit status.
status() {
    wanted=$1 && shift
    "$@" >"$said" 2>&1
    got=$?
    [ "$got" = "$wanted" ] || fail "status $got instead of $wanted: $*"
}
says() { grep -qE -- "$1" "$said" || fail "it does not say: $1"; }

status 0 ./ashlar dist --output "$folder/ashlar.tar.xz"
mkdir -p "$folder/a place" "$folder/bin" && tar -xJf "$folder/ashlar.tar.xz" -C "$folder/a place" || exit 1
root=$(echo "$folder/a place"/ashlar-*)

[ -z "$(find "$root" ! -perm -o=r)" ] || fail "not all may read: $(find "$root" ! -perm -o=r)"

# ---- what was packed is whole, and evidence is of the binaries that are packed ----
cd "$root" || exit 1
status 0 sha256sum --check --quiet SHA256SUMS
for record in evidence/*.json; do
    [ -e "$record" ] || continue
    grep -qF "$record" SHA256SUMS || fail "$record has no checksum"
    sed -n 's/^ *"\(build\/[^"]*\.elf\)": "\([0-9a-f]*\)".*/\2  \1/p' "$record" >"$folder/of"
    [ -s "$folder/of" ] || fail "$record names no binary"
    status 0 sha256sum --check --quiet "$folder/of"
done
[ "$(grep -cE '\| (included|not run|of other binaries) \|$' evidence/README.md)" = 3 ] || fail "the page of the evidence"
[ "$(grep -c '| included |$' evidence/README.md)" = "$(find evidence -name '*.json' | wc -l)" ] || fail "what is said to be included"

# ---- the licences of what the tool is linked with ----
grep -qE '^\| regex-[0-9.]+ \| MIT OR Apache-2.0 \| [1-9] \|$' licences/README.md || fail "the page of the licences"
[ "$(grep -cE '^\| .* \| [1-9] \|$' licences/README.md)" = "$(find licences -mindepth 1 -type d | wc -l)" ] || fail "texts"

# ---- only the programs that a distribution asks for, and none of Rust's or Coq's; the distribution is only read ----
for program in /usr/bin/* /usr/sbin/*; do
    case ${program##*/} in cargo* | rustc* | coq* | ocaml* | z3) ;; *) ln -sf "$program" "$folder/bin/" ;; esac
done
ln -s "$root/ashlar" "$folder/bin/ashlar"
PATH=$folder/bin
unset ASHLAR_ROOT ASHLAR_CARGO RUSTC_WRAPPER
export PATH HOME="$folder"
for program in cargo rustc coqc; do command -v $program >"$said" && fail "$program is in the PATH"; done
find . -type f -exec sha256sum {} + | sort >"$folder/before"

# ---- make, run, change a line, test ----
cd "$folder" || exit 1
status 0 ashlar new weather
cd weather || exit 1
status 0 ashlar check
status 0 ashlar run --headless --until up --timeout 100
says 'MEAN 45 of the last 10 readings'
status 0 ashlar test
says '^3 passed, 0 failed, 0 skipped$'
sed -i 's/^#define READINGS .*/#define READINGS 5u/' src/sensor/main.c
status 1 ashlar test starts
says 'has not said /\^MEAN 45'
says 'again alone: +ashlar test starts --show$'
sed -i 's/MEAN 45/MEAN 20/' tests/prints.c tests/starts.toml
status 0 ashlar test
says '^3 passed, 0 failed, 0 skipped$'

# ---- a debugger finds symbols where the path has a space, and a test runs where no link into the distribution can be ----
status 0 ashlar debug --break sensor:mean_value --batch --execute continue --execute bt
says '^CPU 0, sensor$'
says '^#0 +mean_value .* at src/sensor/mean.c:'
if [ -w /dev/shm ] && [ "$(stat -c %d /dev/shm)" != "$(stat -c %d "$root")" ]; then
    elsewhere=$(mktemp -d /dev/shm/dist-XXXXXX) && trap 'rm -rf "$folder" "$elsewhere"' EXIT
    cp -r . "$elsewhere" && cd "$elsewhere" || exit 1
    status 0 ashlar test starts
    cd "$folder/weather" && rm -rf "$elsewhere" || exit 1
fi

# ---- the step of continuous integration that gets Ashlar, with the archive at hand in place of one in the net ----
rm -f "$folder/bin/curl"
printf '#!/bin/sh\n[ "$1 $2" = "-fsSL -o" ] && cp "${4#file://}" "$3"\n' >"$folder/bin/curl" && chmod +x "$folder/bin/curl"
sed -n '/^        run: |/,/^      - /s/^          //p' .github/workflows/test.yml >"$folder/get.sh"
mkdir "$folder/machine" && cd "$folder/machine" || exit 1
status 0 env ASHLAR="file://$folder/ashlar.tar.xz" sh -e "$folder/get.sh"
status 0 ashlar/ashlar --version
rm -rf "$folder/machine" && cd "$folder/weather" || exit 1

# ---- the other kernels ----
status 0 ashlar build --debug
status 0 ashlar build --lock mcs
status 0 ashlar trace --timeout 3
status 2 sh -c 'rm -r "$1/build/kernel/x86_64-big" && ashlar build --lock big' sh "$root"
says 'this distribution has no kernel x86_64-big$'
says 'x86_64-ticket-trace'

# ---- what needs the sources, and a program in Rust without Rust, say so ----
for verb in prove 'bench ipc' book dist 'campaign random-calls' 'drivers verify' 'timing --kernel'; do
    # shellcheck disable=SC2086
    status 2 ashlar $verb
    says 'a distribution does not have'
    says "Ashlar's source tree"
done
cd "$folder" && status 2 ashlar test
says 'go into a project'
status 0 ashlar new rusty --language rust
status 2 ashlar build rusty/
says 'programs in Rust need Rust 1.85 or newer'

# ---- nothing in the distribution has changed but the kernel that was taken away ----
cd "$root" || exit 1
find . -type f -exec sha256sum {} + | sort >"$folder/after"
comm -3 "$folder/before" "$folder/after" | grep -v x86_64-big/ >"$said" && fail "files of the distribution have changed"
cd "$tree" && exit 0
