# Planted miscompilations: one instruction of the kernel's image is changed, found by its function and its text, and the
# function must be refused, with the reason and the instruction.
set -eu
make --no-print-directory -C kernel
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
image=build/kernel/x86_64-ticket/ashlar.elf

# Of the code's section: its address without the upper half, and its place in the file.
text() { objdump -h "$image" | awk -v column="$1" '$2 == ".text" { print $column; exit }'; }
start=$((0x$(text 4 | sed 's/ffffffff//'))) offset=$((0x$(text 6)))

# Where a function or an object is.
address() { nm "$image" | awk -v name="$1" '$3 == name { print "0x" $1; exit }'; }

# Writes $folder/image: the first instruction of a function that has this text is changed by a script for sed. What is shorter is
# filled up.
plant() { # FUNCTION PATTERN SCRIPT
    objdump -d -M intel --disassemble="$1" "$image" | tr '\t' '|' | sed -n 's/^ *\(f\{8\}\)\([0-9a-f]*\):|/\2|/p' | awk -F'|' \
        -v pattern="$2" '
        NF < 3 { if (at != "") bytes = bytes $2; next }
        at != "" { exit }
        $3 ~ pattern { at = $1; bytes = $2; text = $3 }
        END { gsub(" ", "", bytes); print at, length(bytes) / 2; print text }' >"$folder/found"
    read -r at size <"$folder/found"
    if [ -z "$size" ]; then
        echo "$1 has no instruction $2"
        exit 1
    fi
    { echo .intel_syntax noprefix; sed -e 1d -e 's/ *[<#].*//' -e "$3" "$folder/found"; } >"$folder/new.s"
    as --64 -o "$folder/new.o" "$folder/new.s"
    ld -Ttext="0xffffffff$at" -e 0 --oformat binary -o "$folder/new" "$folder/new.o"
    length=$(wc -c <"$folder/new")
    if [ "$length" -gt "$size" ]; then
        echo "$1: $2 by $3 has $length bytes, there are $size"
        exit 1
    fi
    while [ "$length" -lt "$size" ]; do
        printf '\220' >>"$folder/new"
        length=$((length + 1))
    done
    cp "$image" "$folder/image"
    dd if="$folder/new" of="$folder/image" bs=1 seek=$((offset + 0x$at - start)) conv=notrunc status=none
}

validate() { # STATUS TEXT FUNCTION
    got=0
    ./ashlar prove --binary --image "$folder/image" "$3" >"$folder/out" 2>"$folder/said" || got=$?
    if [ "$got" != "$1" ] || ! grep -q "$2" "$folder/out" "$folder/said"; then
        echo "$3: status $got, expected $1 with: $2"
        cat "$folder/found" "$folder/said"
        exit 1
    fi
}

refused() { # FUNCTION PATTERN SCRIPT REASON
    plant "$1" "$2" "$3"
    validate 1 "$1: not validated: .*$4.* at 0x[0-9a-f]* <$1" "$1"
}

# An instruction that is replaced by itself changes nothing.
plant queue_remove 'mov .*,0xffffffff$' 's/^/ /'
cmp "$image" "$folder/image"
validate 0 '1 of 1 functions validated' queue_remove

# A check is dropped.
refused console_get 'je ' 's/.*//' 'the machine calls spinlock_ticket_wait'
refused queue_remove 'je ' 's/.*//' 'no object of the term'
# A store has another's value, or another's place.
refused queue_remove 'mov *DWORD PTR .*,eax' 's/eax/edx/' 'memory differs in queue_node.next'
refused queue_dequeue 'mov *DWORD PTR \[rdi\*8.*,eax' 's/rdi\*8/rdx*8/' 'writes queue.first, the term does not'
refused queue_dequeue 'mov *QWORD PTR' 's/0xffffffffffffffff/0/' 'memory differs in queue_node.queue'
# A register is kept over a call that changes it.
refused frame_alloc 'mov *eax,DWORD PTR \[rsp' 's/.*//' 'the result differs'
plant spinlock_ticket_wait 'pause' 's/.*/xor ecx, ecx/'
validate 1 'console_get: not validated: .* at 0x[0-9a-f]* <console_get' console_get
# Another function, and another object.
refused frame_alloc 'call' "s/.*/call $(address frame_map_insert)/" 'the machine calls frame_map_insert'
refused queue_dequeue 'mov *ecx,DWORD PTR' "s/\[.*/[rdi*8+$(address container)]/" 'container'
# An increment that is not atomic, and one that is not there.
refused console_get 'lock xadd' 's/lock/nop;/' 'accesses the cell in another way'
refused frame_alloc 'add *rdx,0x1' 's/.*//' 'stored in the atomic cell differs'
# The stack: below the stack pointer, over the return address, and a frame that stays; rbp belongs to the caller.
refused frame_alloc 'mov *DWORD PTR \[rsp' 's/rsp+0x4/rsp-0x8/' 'a store below the stack pointer'
refused frame_alloc 'mov *DWORD PTR \[rsp' 's/rsp+0x4/rsp+0x8/' 'a store above the function.s stack frame'
refused frame_alloc 'add *rsp,0x8' 's/.*//' 'return'
refused frame_alloc 'add *rsp,0x8' 's/.*/pop rbp/' 'rbp is not restored'
# The direction flag is set.
refused spinlock_ticket_wait 'pause' 's/.*/std/' 'direction flag'

# An object that shares bytes with the one before it.
section=0x$(objdump -h "$image" | awk '$2 == ".bss" { sub("^ffffffff", "", $4); print $4; exit }')
place=$(($(address queue | sed 's/ffffffff//') - section + 8))
objcopy --strip-symbol=queue_node --add-symbol "queue_node=.bss:$place,object" "$image" "$folder/image"
validate 1 'queue_dequeue: not validated: .* at 0x[0-9a-f]* <queue_dequeue' queue_dequeue
