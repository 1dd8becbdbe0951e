# The kernel's terms with numbers in them: what the checker of machine code makes of each expression and condition, and of each
# path of a function to its first event, and what Semantics.v, extracted to OCaml, makes of it. Then the same with faults in
# copies of Semantics.v, each of which must be seen.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
examples=$folder/examples
# Builds the kernel and the checker.
./ashlar prove --binary queue_dequeue >"$folder/said" 2>&1 || {
    cat "$folder/said"
    exit 1
}
tools/target/release/validate --examples 12 >"$examples"

compile() (
    cd "$1/proof"
    shift
    for file in "$@"; do
        coqc -q -Q . Ashlar "$file.v"
    done
)

# Compiles the copy of the semantics in a folder, and compares.
compare() {
    compile "$1" lang/Semantics
    cp proof/extract/semantics/extraction.v proof/extract/semantics/compare.ml "$1"
    (cd "$1" && coqc -q -w -extraction -Q proof Ashlar extraction.v &&
        ocamlfind ocamlopt -w -a -package zarith -linkpkg semantics.mli semantics.ml compare.ml -o compare)
    "$1/compare" <"$examples"
}

for file in calculus/logs/Machine calculus/logs/Engine lang/Syntax lang/Semantics; do
    mkdir -p "$folder/same/proof/${file%/*}"
    cp "proof/$file.v" "$folder/same/proof/$file.v"
done
compile "$folder/same" calculus/logs/Machine calculus/logs/Engine lang/Syntax
cp -r "$folder/same" "$folder/clean"
compare "$folder/same"

number=0
while read -r fault; do
    number=$((number + 1))
    status=0
    cp -r "$folder/clean" "$folder/$number"
    sed "$fault" proof/lang/Semantics.v >"$folder/$number/proof/lang/Semantics.v"
    if cmp -s "$folder/$number/proof/lang/Semantics.v" proof/lang/Semantics.v; then
        echo "the fault '$fault' changes nothing"
        exit 1
    fi
    compare "$folder/$number" >"$folder/said" 2>&1 || status=$?
    if [ $status != 1 ]; then
        echo "the fault '$fault' is not seen: status $status"
        cat "$folder/said"
        exit 1
    fi
done <<'END'
s/Le => a <=? b/Le => a <? b/
s/Sub => Some (wrap w (a - b))/Sub => Some (a - b)/
s/Shl => if b <? bits w/Shl => if b <=? bits w/
s/| Some false => Some false/| Some false => test b r m/
s/Some v => Some (wrap w v)/Some v => Some v/
s/(KStmt a :: KStmt b :: k)/(KStmt b :: KStmt a :: k)/
s/if t then a else b/if t then b else a/
s/replicate (fn_locals fd) 0/replicate (fn_locals fd) 1/
s/Some _ => ETau (Cfg k r (<\[(o, iv, f, jv) := v\]> m))/Some _ => ETau (Cfg k r m)/
END
echo "$number planted faults are seen"
