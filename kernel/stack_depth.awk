# Greatest depth of a kernel stack, from the disassembly of the linked image:
#   objdump -d --no-show-raw-insn ashlar.elf | awk -v limit=4096 -f stack_depth.awk
# A function's own need is all it pushes and subtracts anywhere in it, a call adds 8 and the callee's depth, a jump to
# another function the callee's depth. Prints the depth of each kernel entry with its deepest chain; fails if one exceeds
# the limit, if an entry is missing, if a function can reach itself, or if a frame's size is not constant.
BEGIN {
    entries = "trap_syscall trap_exception trap_interrupt trap_leave trap_idle other_cpu_main fatal_exception"
    # An interrupt window may add the processor's frame of 5 words, the stub's 3 words and 8 bytes of alignment; entries
    # themselves are called.
    base = 8 * 10
}
/^[0-9a-f]+ <.*>:$/ {
    name = $2
    gsub(/[<>:]/, "", name)
    known[name] = 1
    order[++count] = name
    next
}
name == "" { next }
{
    line = $0
    sub(/^[^\t]*\t/, "", line)
    split(line, word, /[ \t]+/)
}
word[1] ~ /^push/ { own[name] += 8 }
word[1] ~ /^sub/ && word[2] ~ /,%rsp$/ {
    amount = word[2]
    if (amount !~ /^\$0x/) {
        variable[name] = 1
    } else {
        sub(/^\$0x/, "", amount)
        sub(/,.*/, "", amount)
        own[name] += hex(amount)
    }
}
word[1] ~ /^and/ && word[2] ~ /,%rsp$/ { own[name] += 64 }
word[1] ~ /^call/ { edge(target(line), 8) }
word[1] ~ /^j/ { edge(target(line), 0) }

function hex(text,   i, value) {
    value = 0
    for (i = 1; i <= length(text); i++) {
        value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    }
    return value
}
# The function a call or jump goes to; "" within the same function (its cold part jumps back), "*" if a register tells.
function target(text,   t, self) {
    if (text ~ /\*/) {
        return "*"
    }
    t = text
    if (t !~ /</) {
        return ""
    }
    sub(/^[^<]*</, "", t)
    sub(/>.*/, "", t)
    sub(/\+0x.*/, "", t)
    self = name
    sub(/\.cold$/, "", self)
    return t == name || t == self ? "" : t
}
function edge(to, cost) {
    if (to == "" || (to == "*" && cost == 0)) {
        return
    }
    edges[name]++
    to_of[name, edges[name]] = to
    cost_of[name, edges[name]] = cost
}
function fail(text) {
    print "stack depth: " text > "/dev/stderr"
    failed = 1
}
function depth(f,   i, to, d, tail) {
    if (f in done) {
        return done[f]
    }
    if (f in active) {
        fail(f " can reach itself: recursion is not allowed")
        return 0
    }
    if (variable[f]) {
        fail(f " has a frame of variable size")
    }
    active[f] = 1
    done_value[f] = own[f] + 0
    for (i = 1; i <= edges[f]; i++) {
        to = to_of[f, i]
        # What that runs begins with a stack of its own, and is an entry.
        if (to == "arch_run_on_stack") {
            continue
        }
        if (to == "*") {
            fail(f " calls through a register: its depth is unknown")
            continue
        }
        tail = cost_of[f, i] == 0
        d = depth(to) + (tail ? 0 : own[f] + 8)
        if (d > done_value[f]) {
            done_value[f] = d
            deepest[f] = to
        }
    }
    delete active[f]
    done[f] = done_value[f]
    return done[f]
}
END {
    n = split(entries, list, " ")
    for (i = 1; i <= n; i++) {
        f = list[i]
        if (!(f in known)) {
            # Inlined into the entry before it, or not built: only the trap entries must be there.
            if (f ~ /^trap_/) {
                fail("entry " f " is not in the image")
            }
            continue
        }
        need = base + depth(f)
        chain = f
        for (g = deepest[f]; g != ""; g = deepest[g]) {
            chain = chain " > " g
        }
        print need, chain
        if (need > limit) {
            fail(f " needs " need " bytes of a stack of " limit ": " chain)
        }
    }
    exit failed
}
