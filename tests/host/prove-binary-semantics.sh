# Expressions and conditions of the kernel's terms with random numbers: what the checker's evaluator makes of them, and what
# Semantics.v, extracted to OCaml, makes of them. Then the same with faults in copies of Semantics.v, each of which must be seen.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
examples=$folder/examples
(cd tools && "$CARGO" run --quiet --release --locked -p validation --bin validate -- --root .. --examples 12) >"$examples"

# Compiles a copy of the semantics, with a change if there is one, and compares. FOLDER [EDIT]
compare() {
    mkdir -p "$1"
    for file in calculus/logs/Machine calculus/logs/Engine lang/Syntax lang/Semantics; do
        mkdir -p "$1/proof/${file%/*}"
        sed "${2-}" "proof/$file.v" >"$1/proof/$file.v"
        (cd "$1/proof" && coqc -q -Q . Ashlar "$file.v")
    done
    cp proof/extract/semantics/extraction.v proof/extract/semantics/compare.ml "$1"
    (cd "$1" && coqc -q -w -extraction -Q proof Ashlar extraction.v &&
        ocamlfind ocamlopt -w -a -package zarith -linkpkg semantics.mli semantics.ml compare.ml -o compare)
    "$1/compare" <"$examples"
}

compare "$folder/same"

number=0
while read -r fault; do
    number=$((number + 1))
    status=0
    compare "$folder/$number" "$fault" >"$folder/said" || status=$?
    if cmp -s "$folder/$number/proof/lang/Semantics.v" proof/lang/Semantics.v; then
        echo "the fault '$fault' changes nothing"
        exit 1
    fi
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
END
echo "5 planted faults are seen"
