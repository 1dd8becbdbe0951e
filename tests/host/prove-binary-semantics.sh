# What the checker of machine code makes of the kernel's terms, and what the executor of Symbolic.v makes of them, which is proved
# against Semantics.v: each function up to its first event, and each expression and condition, for all numbers. Then the same with faults
# in what the checker says, and with faults in Semantics.v: each must be seen.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
paths=$folder/paths
# Builds the kernel and the checker.
./ashlar prove --binary queue_dequeue >"$folder/said" 2>&1 || {
    cat "$folder/said"
    exit 1
}
tools/target/release/validate --paths >"$paths"

# Compiles the proofs of a folder's copy, and the comparison. Each step by itself: within a condition the shell goes on after a failure.
build() (
    cd "$1" || exit
    for file in lang/Semantics lang/Symbolic lang/SymbolicSound; do
        coqc -q -Q proof Ashlar "proof/$file.v" || exit
    done
    echo 'From Ashlar Require Import lang.SymbolicSound. Print Assumptions paths_sound. Print Assumptions begin_stands.' >assumptions.v
    test "$(coqc -q -Q proof Ashlar assumptions.v | grep -c '^Closed under the global context$')" = 2 || exit
    coqc -q -w -extraction -Q proof Ashlar extraction.v || exit
    ocamlfind ocamlopt -w -a -package zarith,unix -linkpkg symbolic.mli symbolic.ml trees.ml smt.ml compare.ml -o compare
)

for file in calculus/logs/Machine calculus/logs/Engine lang/Syntax lang/Semantics lang/Symbolic lang/SymbolicSound; do
    mkdir -p "$folder/clean/proof/${file%/*}"
    cp "proof/$file.v" "$folder/clean/proof/$file.v"
done
cp proof/extract/semantics/* "$folder/clean"
(cd "$folder/clean" && for file in calculus/logs/Machine calculus/logs/Engine lang/Syntax; do
    coqc -q -Q proof Ashlar "proof/$file.v"
done)
cp -r "$folder/clean" "$folder/same"
build "$folder/same"

# The functions in which faults are planted, and what all checks need.
some=$folder/some
grep -E '^(cells|function) ' "$paths" >"$some"
awk '/^check function (queue_dequeue|endpoint_take|spinlock_ticket_release) / { in_it = 1 } in_it { print } /^end$/ { in_it = 0 }' \
    "$paths" >>"$some"
"$folder/same/compare" <"$some"

number=0
while read -r fault; do
    number=$((number + 1))
    status=0
    sed -E "$fault" "$some" >"$folder/wrong"
    if cmp -s "$folder/wrong" "$some"; then
        echo "the fault '$fault' changes nothing"
        exit 1
    fi
    "$folder/same/compare" <"$folder/wrong" >"$folder/said" 2>&1 || status=$?
    if [ $status != 1 ]; then
        echo "the fault '$fault' is not seen: status $status"
        cat "$folder/said"
        exit 1
    fi
done <<'END'
/^check function spinlock_ticket_release/,/^end/s/\(bvadd /(bvsub /
/^check function spinlock_ticket_release/,/^end/s/arch_atomic_load/arch_atomic_store/
/^check function endpoint_take/,/^end/s/_ bv144 32/_ bv143 32/
/^check function endpoint_take/,/^end/s/_ bv3 32/_ bv2 32/
/^check function endpoint_take/,/^end/s/(l1:32) (t[0-9]+:32)/\2 \1/
/^check function endpoint_take/,/^end/{/arch_uctx_set/d}
/^check function queue_dequeue/,/^end/s/^(path .*;.*) [0-9]+ t[0-9]+:32$/\1/
/^check function queue_dequeue/,/^end/s/\(store (m[0-9]+) l0 /(store \1 (bvadd l0 (_ bv1 32)) /
/^check function queue_dequeue/,/^end/s/\(store (m[0-9]+) l0 t[0-9]+/(store \1 l0 (_ bv5 32)/
/^check function queue_dequeue/,/^end/s/= return t[0-9]+:32 ;/= return l0:32 ;/
END

while read -r fault; do
    number=$((number + 1))
    cp -r "$folder/clean" "$folder/$number"
    sed "$fault" proof/lang/Semantics.v >"$folder/$number/proof/lang/Semantics.v"
    if cmp -s "$folder/$number/proof/lang/Semantics.v" proof/lang/Semantics.v; then
        echo "the fault '$fault' changes nothing"
        exit 1
    fi
    if build "$folder/$number" >"$folder/said" 2>&1 && "$folder/$number/compare" <"$some" >"$folder/said" 2>&1; then
        echo "the fault '$fault' in Semantics.v is not seen"
        exit 1
    fi
done <<'END'
s/Le => a <=? b/Le => a <? b/
s/(KStmt a :: KStmt b :: k)/(KStmt b :: KStmt a :: k)/
END
"$folder/same/compare" <"$paths"
echo "$number planted faults are seen"
