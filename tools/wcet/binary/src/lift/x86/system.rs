//! The explicit list of x86-64 instructions that do more than compute, and how each is treated.
//!
//! Their lifted semantics are dropped. Instead every register and flag that the decoder says is written becomes
//! unknown, and so does all writable memory where the list says so. What an instruction does to devices, to page tables
//! or to another privilege's state is outside the language; its time comes from the machine file, by its mnemonic.

use iced_x86::Mnemonic;

use crate::lift::il::{Flow, Kind};

/// How a listed instruction is treated.
pub(crate) struct System {
    pub kind: Kind,
    pub flow: Flow,
    /// Whether it may write memory.
    pub memory: bool,
    /// Registers it changes beyond those the decoder names.
    pub registers: &'static [&'static str],
    /// Whether it may change any vector register, and how their numbers are rounded.
    pub vectors: bool,
}

const fn system(memory: bool, registers: &'static [&'static str]) -> System {
    System { kind: Kind::System, flow: Flow::Next, memory, registers, vectors: false }
}

const ALL: &[&str] = &[
    "RAX",
    "RCX",
    "RDX",
    "RBX",
    "RBP",
    "RSI",
    "RDI",
    "R8",
    "R9",
    "R10",
    "R11",
    "R12",
    "R13",
    "R14",
    "R15",
    "FS_OFFSET",
    "GS_OFFSET",
    "CF",
    "PF",
    "AF",
    "ZF",
    "SF",
    "OF",
    "DF",
];
const SEGMENT_BASES: &[&str] = &["FS_OFFSET", "GS_OFFSET"];

pub(crate) fn treatment(mnemonic: Mnemonic) -> Option<System> {
    use Mnemonic::*;
    Some(match mnemonic {
        Hlt | Mwait => System { kind: Kind::Wait, ..system(false, &[]) },
        // Interrupts are no part of the code that is bounded: a region begins and ends with them off.
        Cli | Sti | Clgi | Stgi => system(false, &[]),
        // A handler of the kernel, which comes back; an NMI counts as any exception in the kernel, and is bounded apart.
        Int => system(true, &[]),
        Swapgs => system(false, &["GS_OFFSET"]),
        Wrmsr | Wrfsbase | Wrgsbase => system(false, SEGMENT_BASES),
        Rdmsr | Rdtsc | Rdtscp | Rdpmc | Cpuid | Xgetbv | Rdfsbase | Rdgsbase | Smsw | Str | Sldt => system(false, &[]),
        Xsetbv | Clts | Lmsw | Lgdt | Lidt | Lldt | Ltr | Invlpg | Invpcid | Invlpga | Wbinvd | Invd | Verr | Verw => {
            system(false, &[])
        }
        Sgdt | Sidt => system(true, &[]),
        In | Out => system(false, &[]),
        Outsb | Outsw | Outsd => system(false, &[]),
        Insb | Insw | Insd => system(true, &[]),
        Pause | Nop | Endbr64 | Lfence | Sfence | Mfence | Clflush | Clflushopt | Clwb | Monitor | Prefetcht0
        | Prefetcht1 | Prefetcht2 | Prefetchnta | Prefetchw => system(false, &[]),
        Xsave | Xsave64 | Xsaveopt | Xsaveopt64 | Fxsave | Fxsave64 | Fnstcw | Fnstsw | Stmxcsr => system(true, &[]),
        Xrstor | Xrstor64 | Fxrstor | Fxrstor64 | Ldmxcsr => System { vectors: true, ..system(false, &[]) },
        Fldcw | Fninit | Emms | Vzeroupper => system(false, &[]),
        // In a user program: the kernel may give back any register but the stack pointer, and write the program's memory.
        Syscall => System { vectors: true, ..system(true, ALL) },
        // A guest runs in between: it, and the processor in its name, may write all memory.
        Vmrun | Vmlaunch | Vmresume => System { vectors: true, ..system(true, ALL) },
        Vmload => system(false, SEGMENT_BASES),
        Vmsave | Vmread | Vmptrst | Vmclear | Vmptrld | Vmxon | Vmxoff => system(true, &[]),
        Vmwrite | Invept | Invvpid => system(false, &[]),
        Iretq | Iretd | Sysretq | Sysret | Sysexit | Sysexitq => System { flow: Flow::Leave, ..system(false, ALL) },
        Ud0 | Ud1 | Ud2 | Int3 => System { flow: Flow::Trap, ..system(false, &[]) },
        _ => return None,
    })
}

/// Whether a `mov` between general and control, debug or segment registers.
pub(crate) fn system_move(instruction: &iced_x86::Instruction) -> Option<System> {
    let register = |at| instruction.op_register(at);
    let special = |register: iced_x86::Register| register.is_cr() || register.is_dr() || register.is_segment_register();
    if instruction.mnemonic() != Mnemonic::Mov || instruction.op_count() != 2 {
        return None;
    }
    (special(register(0)) || special(register(1))).then(|| {
        let segment = register(0).is_segment_register();
        // Storing a segment register writes memory.
        let memory = instruction.op_kind(0) == iced_x86::OpKind::Memory;
        system(memory, if segment { SEGMENT_BASES } else { &[] })
    })
}
