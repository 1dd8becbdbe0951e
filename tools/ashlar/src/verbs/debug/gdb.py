"""What `ashlar debug` adds to gdb. Programs of all processes lie at the same addresses, so gdb has the symbols of the kernel
and of one program at a time: that of the process at which the machine has stopped."""

import json
import os

import gdb

with open(os.environ["ASHLAR_DEBUG"]) as described:
    PROCESSES = json.load(described)["processes"]
KERNEL_HALF = 1 << 63
# Of the registers that the kernel saves of a thread (kernel/arch/arch.h): vector, fault address, instruction pointer.
FAULT_WORDS = (15, 22, 17)
PAGE_FAULT = 14
# What the run-time monitor of drivers' protocols says when a rule is broken begins so, and panic says it.
MONITOR_SAYS = "MONITOR"
loaded = None  # the program whose symbols gdb has


def value(expression):
    return int(gdb.parse_and_eval(expression))


def named(name):
    """The process of that name."""
    for process in PROCESSES:
        if process["name"] == name:
            return process
    names = ", ".join(process["name"] for process in PROCESSES)
    raise gdb.GdbError(f"no process {name}: there are {names}")


def cpu_here():
    """The kernel's number of the processor that gdb looks at; None where the kernel does not run there yet."""
    apic = gdb.selected_thread().num - 1
    try:
        for cpu in range(value("cpus_started")):
            if value(f"percpu[{cpu}].apic_id") == apic:
                return cpu
    except gdb.MemoryError:
        pass
    return None


def thread_here():
    cpu = cpu_here()
    return None if cpu is None else value(f"percpu[{cpu}].current")


def process_of(thread):
    """The process of a thread; None for idle threads."""
    if thread is None:
        return None
    return next((process for process in PROCESSES if thread in process["threads"]), None)


def load(process):
    """Gives gdb the symbols of the program of `process` in place of another's."""
    global loaded
    elf = process and process["elf"]
    if elf is None or elf == loaded:
        return
    if loaded is not None:
        gdb.execute(f"remove-symbol-file {quoted(loaded)}", to_string=True)
    gdb.execute(f"add-symbol-file {quoted(elf)}", to_string=True)
    loaded = elf


def quoted(path):
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def program_places(place):
    """Addresses of a place in the program whose symbols are loaded."""
    try:
        sals = gdb.decode_line(place)[1]
    except gdb.error as error:
        raise gdb.GdbError(str(error))
    return [sal.pc for sal in sals or () if 0 < sal.pc < KERNEL_HALF]


def own_function(process, name):
    """The address of a function of the process's program, whose symbols are loaded; None if it has none of that name."""
    symbol = gdb.lookup_global_symbol(name)
    if symbol is None or symbol.symtab.objfile.filename != process["elf"]:
        return None
    return int(symbol.value().address)


class ProcessBreakpoint(gdb.Breakpoint):
    """Stops where one process comes to an address; others at the same address go on."""

    def __init__(self, process, address):
        super().__init__(f"*{address:#x}")
        self.process = process

    def stop(self):
        return process_of(thread_here()) is self.process


class Violation(ProcessBreakpoint):
    """Stops where the run-time monitor has found that a driver breaks its protocol."""

    def stop(self):
        return super().stop() and self.text().startswith(MONITOR_SAYS)

    def text(self):
        return gdb.parse_and_eval("(char *) $rdi").string(errors="replace", length=len(MONITOR_SAYS))

    def reason(self):
        return f"{self.process['name']} breaks its protocol; `bt` shows where"


class Fault(gdb.Breakpoint):
    """Stops in the kernel where a program's fault is taken, whoever will handle it."""

    def __init__(self):
        super().__init__("trap_fault")

    def reason(self):
        thread = thread_here()
        vector, address, at = (value(f"arch_threads[{thread}].word[{word}]") for word in FAULT_WORDS)
        where = f" at address {address:#x}" if vector == PAGE_FAULT else ""
        return f"{process_of(thread)['name']} has caused exception {vector}{where}, at {place_of(at)}"


def place_of(address):
    """Function and line of an address, as far as they are known."""
    words = [f"{address:#x}"]
    block = gdb.block_for_pc(address)
    if block is not None and block.function is not None:
        words.append(f"in {block.function.name}")
    line = gdb.find_pc_line(address)
    if line.symtab is not None:
        words.append(f"at {line.symtab.filename}:{line.line}")
    return " ".join(words)


def break_in(process, place):
    load(process)
    addresses = program_places(place)
    if not addresses:
        raise gdb.GdbError(f"{place} is not in the program of {process['name']}")
    for address in addresses:
        ProcessBreakpoint(process, address)


class Ashlar(gdb.Command):
    """Commands about the system that runs: `help ashlar` lists them."""

    def __init__(self):
        super().__init__("ashlar", gdb.COMMAND_STATUS, prefix=True)


class Processes(gdb.Command):
    """List the processes, their programs, and which of them runs where."""

    def __init__(self):
        super().__init__("ashlar processes", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        here = gdb.selected_thread()
        if here is None:
            raise gdb.GdbError("the machine does not run")
        running = {}
        for cpu in gdb.selected_inferior().threads():
            cpu.switch()
            process = process_of(thread_here())
            if process is not None:
                running[process["name"]] = f"  runs on CPU {cpu_here()}"
        here.switch()
        for process in PROCESSES:
            program = process["program"] or "no program of its own"
            print(f"{process['name']:16} {program:16}{running.get(process['name'], '')}")


class BreakIn(gdb.Command):
    """Stop where a process comes to a place: `ashlar break PROCESS PLACE`, such as `ashlar break hello main.c:20`.
    Other processes that run the same program go on."""

    def __init__(self):
        super().__init__("ashlar break", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        words = argument.split(None, 1)
        if len(words) != 2:
            raise gdb.GdbError("give a process and a place: ashlar break PROCESS PLACE")
        break_in(named(words[0]), words[1])


class Symbols(gdb.Command):
    """Take the symbols of a process's program: `ashlar symbols PROCESS`. Each stop takes those of the process there."""

    def __init__(self):
        super().__init__("ashlar symbols", gdb.COMMAND_FILES)

    def invoke(self, argument, from_tty):
        load(named(argument.strip()))


class Faults(gdb.Command):
    """Stop at every fault of a program, before anyone handles it."""

    def __init__(self):
        super().__init__("ashlar faults", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        Fault()


class Violations(gdb.Command):
    """Stop where a driver breaks its protocol. The run-time monitor, which sees it, is in debug builds."""

    def __init__(self):
        super().__init__("ashlar violations", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        found = 0
        for process in PROCESSES:
            load(process)
            if own_function(process, "monitored_start") is not None:
                Violation(process, own_function(process, "panic"))
                found += 1
        if not found:
            raise gdb.GdbError("no process has a driver's run-time monitor: debug a build made with --debug")


def stopped(event):
    """Says where the machine has stopped. Only now may gdb get other symbols; it would have said so with those it had."""
    cpu = cpu_here()
    process = process_of(thread_here())
    load(process)
    where = "before the kernel has begun here" if cpu is None else f"CPU {cpu}, {process['name'] if process else 'idle'}"
    print(f"\n{where}")
    for breakpoint in getattr(event, "breakpoints", ()):
        if hasattr(breakpoint, "reason"):
            print(breakpoint.reason())
    gdb.execute("frame")


for command in (Ashlar, Processes, BreakIn, Symbols, Faults, Violations):
    command()
gdb.execute("set suppress-cli-notifications on")
gdb.events.stop.connect(stopped)
