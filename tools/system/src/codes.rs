//! The codes of faults in system descriptions. `tests/descriptions/` holds a description for each. Numbers are stable; a code
//! that goes is not used again.

diagnostics::codes! {
    /// A kind of fault, with a stable name such as `ASH-S012`.
    pub enum Code;
    Unreadable "ASH-S001" "a description cannot be read"
        "The file that describes the system, or the machine file it names, does not exist, may not be opened, or is \
         not UTF-8 text. A machine is named by `machine = \"q35\"` in `[system]` and stands in `machines/q35.toml`. \
         Check the path, and the file's permissions."
    Syntax "ASH-S002" "the text is not TOML"
        "The text breaks TOML's grammar: a quote or bracket is missing, or a value is not a string, number, true, \
         false, list or table. Values with a unit are strings: quota = \"4MiB\". One broken line can make the lines \
         after it unreadable, so mend the first fault first."
    Duplicate "ASH-S003" "a name is defined twice"
        "A key stands twice in one table, a table is opened twice, two virtual CPUs of a guest share a CPU, or a virtual machine has the \
         name of a process (a virtual machine is a process: its monitor). Keep one of the two, or rename the other."
    UnknownKey "ASH-S004" "a key or table that does not exist"
        "Nothing reads this key, so it is refused rather than ignored: a misspelt `budget` must not mean \
         \"no budget\". The reference page of the description lists every table and key."
    WrongType "ASH-S005" "a value of the wrong type"
        "The key wants another type of value: a string where a number stands, a list where a table should be. \
         Sizes and times are strings with their unit; priorities and CPUs are plain integers; several names are a \
         list of strings."
    MissingKey "ASH-S006" "a required key is missing"
        "The table cannot be understood without this key, and there is no default that would be right for most \
         systems. Add it."
    BadValue "ASH-S007" "a value that cannot be understood"
        "The text of the value does not have the form its key wants: a size is a whole number and B, KiB, MiB or \
         GiB; a time is a whole number and ns, us, ms or s; a range is FIRST..LAST, in hexadecimal or decimal, both \
         ends included; a choice is one of the listed words."
    OutOfRange "ASH-S008" "a value out of its range"
        "The value has the right form but lies outside what the kernel or the machine can do. The message gives the \
         bounds. Priorities 0 and 255 are the kernel's own (idle, and ending a process)."
    BadName "ASH-S009" "a name that cannot be used"
        "Names of processes, endpoints and the like appear in C constants, in the environment page and before each \
         console line: they begin with a small letter, go on with small letters, digits, `_` or `-`, and have at \
         most 31 characters. The console name `kernel` is the kernel's."
    UnknownName "ASH-S010" "a name that nothing has"
        "The value should name an object of this description or of its machine, and there is none of that name. \
         Either the name is misspelt (the remedy suggests the nearest) or its table is missing."
    TooMany "ASH-S011" "more objects than the kernel holds"
        "The kernel's tables have fixed sizes, so that it never runs out of memory for them while it works. This \
         system needs more objects of a kind than its table has. Use fewer, or raise the bound in kernel/config.h \
         and build again."
    OwnAncestor "ASH-S012" "a process is its own ancestor"
        "Following `parent` from this process leads back to it. Quota flows from parent to child, so the parents \
         must form a tree that begins at a process without parent."
    Loop "ASH-S013" "both ends are the same process"
        "A process that calls an endpoint on which it receives itself, shares memory with itself, or handles its own \
         faults would wait for itself for ever. Give one end to another process."
    OneEnded "ASH-S014" "a channel with one end"
        "No process is at the other end: an endpoint without senders, a buffer without producer or without consumer, a \
         notification that nothing signals. A process that waits there waits for ever. Name the other end or remove \
         the table."
    TwoOwners "ASH-S015" "two owners of one thing"
        "A device, an interrupt, a console or a virtual machine belongs to one process, so that no other can \
         disturb its state. To let several processes use it, make one the owner and let the others send it messages."
    KernelOwned "ASH-S016" "the kernel keeps this for itself"
        "The machine description marks this device or interrupt `kernel = true`: the kernel uses it (serial port, \
         timers, interrupt controllers) and cannot share it. Choose another."
    NotWaiter "ASH-S017" "the notification belongs to another process"
        "An interrupt, console input or a child's death is signalled to the process that owns it, so the notification \
         named here must be one on which that process waits (`waiter`)."
    NoCpu "ASH-S018" "a CPU that does not exist"
        "CPUs are numbered from 0. `[system] cpus` says how many the system uses, the machine's `cpus` how many there \
         are, and the kernel has its own bound. The process, thread or system asks for one beyond."
    NoVirtualization "ASH-S019" "virtual machines on a machine without virtualization"
        "A `[vm.NAME]` needs a processor that can run guests, and the machine file says `virtualization = \"none\"`. \
         Choose a machine with \"svm\" or \"vmx\", or remove the virtual machines."
    MachineMemory "ASH-S020" "more memory than the machine has"
        "The quotas of all processes without parent, the system image and the kernel together exceed the machine's \
         memory. Every quota is guaranteed at any time, so quotas are never overcommitted. Lower the quotas or choose \
         a larger machine."
    Overlap "ASH-S021" "memory or ports overlap"
        "Two things claim the same addresses: two devices of the machine, a device and its memory, or two segments \
         of a program. A process that is given one would also be given a part of the other."
    QuotaTooSmall "ASH-S022" "a quota too small for its own process"
        "The process cannot start: its writable segments, stack, message pages, page tables and, for a monitor, its \
         guest's memory and nested page tables need more frames than its quota has. The message gives the least \
         quota; what the program maps at run time comes on top. Leave `quota` out to get the least and 256 KiB."
    ChildrenQuota "ASH-S023" "children's quotas exceed their parent's"
        "A process's quota includes its descendants': each child's quota is split off its parent's. The children's \
         quotas and the parent's own need together exceed the parent's quota."
    Budget "ASH-S024" "a budget or deadline that does not fit its period"
        "A thread may run for its `budget` in every `period`. The budget must be positive and at most the period, and \
         the two come together: one without the other means nothing. A `deadline` is at most the period. Keys of a process hold for its only thread on a \
         CPU; where several run on one CPU, each states its own, because a reservation is spent by one thread at a \
         time."
    BadRegex "ASH-S025" "a regular expression that does not parse"
        "`up` is a regular expression searched in a console's output; `ashlar run --until up` waits for it. The syntax is that of \
         the Rust `regex` crate. In a TOML string every backslash is doubled, or the string stands in single quotes."
    NothingStarts "ASH-S026" "nothing to start"
        "The system has no process and no virtual machine, so there would be nothing to do after boot. Add one."
    NoParent "ASH-S027" "started by a parent that it does not have"
        "`start = \"parent\"`, `on_death` and `restart` speak of the process that creates and watches this one, so `parent` \
         must name it."
    UnknownProgram "ASH-S028" "a program that does not exist"
        "`program` names a C file of user/apps, user/tests, user/bench or user/services, a folder of \
         user/drivers, or vmm, or in a project of one's own a `[program.NAME]` of its ashlar.toml; there is none of this \
         name."
    NotBuilt "ASH-S029" "a file has not been made yet"
        "The program or guest file exists by name but not yet as a file, so addresses and the image cannot be \
         computed. `ashlar build` makes programs and fetches guest files."
    DamagedProgram "ASH-S030" "a program is not a usable ELF file"
        "A program must be a static 64-bit ELF executable for x86-64 with at least one loadable segment and an entry \
         point inside an executable one. This file is damaged or was built for something else; build it again."
    WritableCode "ASH-S031" "a program segment is writable and executable"
        "Memory that can be written and executed lets any overrun run code of its own, and the kernel refuses such a \
         mapping. Link the program with user/libc/link.ld, which keeps code and data on pages of their own."
    SegmentPlace "ASH-S032" "a program segment in the wrong place"
        "Segments lie between USER_BASE and USER_END and outside the areas of the tool: mapped files and the stack \
         of the first thread, the environment page, and the message pages. Link the program with user/libc/link.ld."
    MissingFile "ASH-S033" "a file does not exist"
        "The description names a file by path, relative to the description's own folder, and it cannot be read."
    DamagedKernel "ASH-S034" "a guest kernel is damaged"
        "A guest kernel must be a Linux bzImage for 64-bit x86: boot flag 0xAA55, the signature HdrS, protocol 2.12 \
         or later with a 64-bit entry point, and as long as its header says; or a 64-bit ELF file whose note `Xen` of type 18 \
         names a PVH entry, such as a vmlinux, with its segments between 1 MiB and 4 GiB. A half-finished download looks \
         like this too: fetch it again."
    DamagedInitrd "ASH-S035" "a guest initial ramdisk is damaged"
        "An initial ramdisk must be a cpio archive (newc), plain or packed by gzip, xz, zstd, lz4, lzop, bzip2 or \
         lzma. This file begins like none of these. Build or fetch it again."
    GuestMemory "ASH-S036" "guest memory too small for its files"
        "The guest's kernel, unpacked, and its initial ramdisk do not fit into `memory`, so the guest could not \
         boot. Give it more."
    EnvironmentFull "ASH-S037" "the environment page is full"
        "Names, slots, files and arguments of a process must fit into one page of 4096 bytes. Use fewer or shorter \
         arguments; pass large data as a file."
    BeforeParent "ASH-S038" "started before its parent"
        "The process starts at boot, but its parent does not, and there is nothing to take its quota from. Start the \
         parent at boot too, or leave the start of this process to its parent."
    NoMitigation "ASH-S039" "a mitigation that is not there"
        "`[system] mitigations` names what the kernel does against leaks through speculation. Some need a feature of \
         the processor, and a machine file says by its own `mitigations` which its processors have: where one is \
         missing the system would promise what it does not do. Remove it, or choose another machine."
    OverCommitted "ASH-S040" "a processor promised more than once"
        "The budgets of a CPU's threads, each divided by its period, add up to more than the whole processor, so not \
         every thread can get its budget in every period. Lower budgets, lengthen periods, or move threads to other \
         CPUs."
    LendingCircle "ASH-S041" "a reservation lent in a circle"
        "A process without a reservation runs on that of the thread that calls it. Here such processes may call each \
         other in a circle that a thread with a reservation can enter: they would wait for each other's replies, with \
         the caller's time. Give one of them a reservation of its own, or let one of them signal instead of calling."
    Restart "ASH-S042" "restarts that cannot be made"
        "`restart` asks the parent to start a process again after its end, so the parent must hear of the end: `on_death` \
         names a notification that it waits for. `restart_limit` and `restart_within` limit restarts, so they need \
         `restart`. The program `supervisor` does what these keys say; another parent finds them in its environment page."
    GuestDisk "ASH-S043" "a disk that cannot be"
        "`disk` of a virtual machine or process names the process that drives its disk: one that runs `ahci` or `nvme`, on a machine that has \
         a disk, for one client; or a service with `serves = \"sata\"`, which has a `disk` itself and gives each of its clients a part. \
         `disk_size` is how much of the disk the client gets: whole sectors of 512 bytes, and no more than the \
         disk has. With a service, `disk_at` says where the part begins, both must be given, and no two parts overlap: a part that moved \
         when another one is added would be another one's data; `disk_share` is a client's part of the service, so it needs one. Driver and console reach a guest's monitor by one notification, which \
         has the guest's name and is made where the description has none, so the console needs no `input`."
    OtherAbi "ASH-S044" "a program for another interface"
        "A program says in a note of its ELF file, of owner `Ashlar`, what version of the kernel's interface it was built \
         for: system calls, error codes, layouts of pages. One that says another version than this Ashlar's, or none, \
         could do anything. The note is in crt0.S.o, and user/libc/link.ld keeps it; a program for Linux has none."
    GuestNetwork "ASH-S045" "a network that cannot be"
        "`network` of a virtual machine or a process names the process that drives its network card: one that runs `rtl8139` or `e1000e`, for one \
         client, or a virtual switch with `serves = \"ethernet\"`, for several; `uplink` of a switch one that runs such a driver. Driver and \
         console reach the guest's monitor by one notification, which has the guest's name and is made where the description \
         has none, so the console needs no `input`."
    Switch "ASH-S046" "a switch that cannot be"
        "A process with `serves = \"ethernet\"` is a network switch for all whose `network` names it, one to eight of them. `uplink` is the \
         driver of its card; only a switch has one, and it cannot be another switch. `network_share` is a client's part of its \
         switch, so it needs one."
    HardwareAddress "ASH-S047" "a hardware address that cannot be"
        "`mac` is the one address from which a client of a switch may send: that of one station, not of a group (the first byte is \
         even) and not zero, and another one for each client. Clients without `mac` have the addresses 02:41:53:48:00:01, \
         02:41:53:48:00:02 and so on, in the order of the text. A driver's only client has the card's own address."
    GuestFirmware "ASH-S048" "a firmware that cannot be"
        "`firmware` of a virtual machine lets it start as a PC does: by an image of a BIOS for QEMU's machine `microvm`, whole pages of at \
         most 1 MiB with a far jump 16 bytes before the end, such as Debian's SeaBIOS. It starts what the guest's `disk` holds, so the guest \
         needs one, and has no `kernel`, `initrd` or `cmdline`: the boot loader on the disk chooses them."
    DiskImage "ASH-S049" "a disk image that cannot be"
        "`disk_image` is what a guest's disk holds when the emulated machine's disk is made: `debian` or `grub`, which the tool makes, or \
         the path of a file of whole sectors of 512 bytes, no larger than the guest's disk or its part of one. Where the guest starts by a \
         firmware, the first sector ends with the mark 0xAA55."
    PassedDevice "ASH-S050" "a PCI device that a guest cannot be given"
        "A guest with `pci` drives a PCI device itself. Nothing but an IOMMU keeps such a device from all memory, so the machine's file must \
         say that there is one (`iommu = \"vt-d\"`), and the device must be alone in what the IOMMU tells apart: of a device with several \
         functions no other process may drive one. The guest has one window of registers, of memory, with the device's `function`, and the \
         interrupt of that function signals the notification of the guest's name, by which its console's input comes too."
    Sound "ASH-S051" "a sound controller that cannot be"
        "`sound` of a process names the process that drives the sound controller for it, such as one that runs `hda`: one with \
         `serves = \"audio\"`. Such a driver has one or two clients: one plays, one records. A guest has none."
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn codes_are_numbered_without_gap_and_parse_back() {
        for (index, code) in Code::ALL.iter().enumerate() {
            assert_eq!(code.name(), format!("ASH-S{:03}", index + 1));
            assert_eq!(Code::parse(&code.name().to_lowercase()), Some(*code));
            assert_eq!(Code::parse(&code.name()[4..]), Some(*code));
            assert!(!code.title().is_empty() && code.explanation().len() > code.title().len());
        }
        assert_eq!(Code::parse("ASH-S999"), None);
    }
}
