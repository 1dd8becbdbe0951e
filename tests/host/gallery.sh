#!/bin/sh
# A distribution is packed, and each project of its gallery is copied to another place, built and tested there.
set -u
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
said=$folder/said

fail() { echo "$1"; cat "$said"; exit 1; }

# The test `dist` packs one as it is offered; here it may be larger.
XZ_OPT=-0 ./ashlar dist --output "$folder/ashlar.tar.xz" >"$said" 2>&1 || fail "no distribution"
mkdir -p "$folder/a place" "$folder/projects" && tar -xJf "$folder/ashlar.tar.xz" -C "$folder/a place" || exit 1
root=$(echo "$folder/a place"/ashlar-*)
# The tree is not used any more: not by its variables either. Cargo stays, for the programs in Rust.
unset ASHLAR_ROOT RUSTC_WRAPPER
CARGO_NET_OFFLINE=true
export CARGO_NET_OFFLINE
cp -r "$root/gallery/." "$folder/projects" || exit 1

number=0
for project in "$folder"/projects/*/; do
    name=$(basename "$project")
    number=$((number + 1))
    cd "$project" || exit 1
    for system in systems/*.toml; do
        "$root/ashlar" check "$system" >"$said" 2>&1 || fail "$name: $system has faults"
    done
    "$root/ashlar" test >"$said" 2>&1 || fail "$name: its tests do not pass"
    # Every test has run: one that is left out has not shown anything.
    grep -qE '^[1-9][0-9]* passed, 0 failed, 0 skipped$' "$said" || fail "$name: tests are left out"
    echo "$name: $(tail -n 1 "$said")"
    rm -rf build
done
for page in "$root"/gallery/*/; do
    [ -f "$root/book/gallery/$(basename "$page").html" ] || fail "no page of the book is about $page"
done
[ "$number" -ge 1 ] || fail "the gallery is empty"
cd "$root" && sha256sum --check --quiet SHA256SUMS >"$said" 2>&1 || fail "files of the distribution have changed"
