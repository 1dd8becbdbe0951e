# An image without symbols, and one whose functions stand elsewhere, are refused with a reason, without a crash.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
image=build/kernel/x86_64-ticket/ashlar.elf

expect() { # STATUS TEXT ARGUMENT...
    status=$1 text=$2
    shift 2
    got=0
    ./ashlar prove --binary "$@" >"$folder/out" 2>"$folder/said" || got=$?
    if [ "$got" != "$status" ] || ! grep -q "$text" "$folder/out" "$folder/said"; then
        echo "prove --binary $*: status $got, expected $status with: $text"
        cat "$folder/out" "$folder/said"
        exit 1
    fi
}

objcopy --strip-all "$image" "$folder/stripped"
expect 1 "the image has no copy of it, or its symbols are gone" --image "$folder/stripped" queue_dequeue

# The function's name on another function's code.
objcopy --redefine-sym queue_dequeue=other --redefine-sym queue_remove=queue_dequeue "$image" "$folder/renamed"
expect 1 "queue_dequeue: not validated" --image "$folder/renamed" queue_dequeue

# An object at another object's place.
address() { nm "$image" | awk -v name="$1" '$3 == name { print "0x" $1; exit }'; }
objcopy --strip-symbol=queue_node --add-symbol "queue_node=.bss:$(printf '0x%x' $(($(address queue) - 0x$(objdump -h "$image" | awk '$2 == ".bss" { print $4; exit }')))),object" \
    "$image" "$folder/moved"
expect 1 "queue_dequeue: not validated" --image "$folder/moved" queue_dequeue

head -c 5000 "$image" >"$folder/cut"
expect 2 "cannot be read" --image "$folder/cut" queue_dequeue
expect 2 "the layers have no function nowhere" nowhere
