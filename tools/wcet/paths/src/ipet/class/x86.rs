//! Classes of x86-64 instructions, by mnemonic and by what they do to memory.
//!
//! Only what is listed has a class: an unlisted instruction is an error, not a cheap one.

use iced_x86::{Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess};
use wcet_binary::lift::il::{Flow, Kind};
use wcet_binary::lift::Instruction;
use wcet_hardware::machine::Class;

use super::Sort;

pub(crate) fn decode(instruction: &Instruction) -> iced_x86::Instruction {
    Decoder::with_ip(64, &instruction.bytes, instruction.address, DecoderOptions::NONE).decode()
}

pub(super) fn sort(instruction: &Instruction) -> Result<Sort, String> {
    let decoded = decode(instruction);
    if let Some(sort) = system(instruction, &decoded)? {
        return Ok(sort);
    }
    if decoded.flow_control() != FlowControl::Next {
        return Ok(Sort::of(Class::Branch));
    }
    let (reads, writes) = memory(&decoded);
    if decoded.has_lock_prefix() || decoded.mnemonic() == Mnemonic::Xchg && reads {
        return Ok(Sort::of(Class::Atomic));
    }
    // A comparison of strings and one of floating-point numbers have one name.
    let floats = decoded.mnemonic() == Mnemonic::Cmpsd && decoded.op0_register().is_xmm();
    let computes = if floats { Some(Class::Float) } else { computes(decoded.mnemonic()) };
    let computes = computes.ok_or_else(|| {
        format!("`{}` is in no class; compile without it (-mgeneral-regs-only keeps to integers)", instruction.mnemonic)
    })?;
    Ok(Sort::of(match (computes, reads, writes) {
        (Class::Multiply | Class::Divide | Class::Float | Class::FloatDivide, _, _) => computes,
        (_, true, true) => Class::Update,
        (_, true, false) => Class::Load,
        (_, false, true) => Class::Store,
        (_, false, false) => computes,
    }))
}

/// Whether it reads memory, and whether it writes.
fn memory(decoded: &iced_x86::Instruction) -> (bool, bool) {
    use OpAccess::*;
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(decoded).used_memory();
    let reads = used.iter().any(|one| matches!(one.access(), Read | CondRead | ReadWrite | ReadCondWrite));
    let writes = used.iter().any(|one| matches!(one.access(), Write | CondWrite | ReadWrite | ReadCondWrite));
    (reads, writes)
}

/// Instructions that do more than compute.
fn system(instruction: &Instruction, decoded: &iced_x86::Instruction) -> Result<Option<Sort>, String> {
    use Mnemonic::*;
    let class = match decoded.mnemonic() {
        Nop | Endbr64 => Class::Nop,
        // As a hint to a spinning processor it may take long, but no file gives it a class of its own.
        Pause => Class::BarrierInstruction,
        Prefetcht0 | Prefetcht1 | Prefetcht2 | Prefetchnta | Prefetchw => {
            return Ok(Some(Sort { prefetches: true, ..Sort::of(Class::Load) }));
        }
        Pushfq | Pushf => Class::StatusRead,
        Popfq | Popf => Class::StatusWrite,
        Cli | Sti => Class::ModeChange,
        Hlt | Mwait => Class::Wait,
        Clflush | Clflushopt | Clwb => Class::CacheMaintenance,
        Wbinvd | Invd => return Err("its time has no bound; do not use it in a bounded region".to_string()),
        Invlpg | Invpcid | Invlpga | Invept | Invvpid => Class::TlbInvalidate,
        Lfence | Sfence | Mfence => Class::BarrierData,
        Iretq | Iretd | Sysretq | Sysret | Sysexit | Sysexitq => Class::ExceptionReturn,
        Ud0 | Ud1 | Ud2 | Int3 | Int => Class::ExceptionEntry,
        Syscall => Class::SystemCall,
        // A counter is such a register too, also where it has an instruction of its own; and swapgs exchanges two bases, of which
        // one is in such a register: it reads no descriptor, and unlike a write of one it serializes nothing.
        Rdmsr | Xgetbv | Rdpmc | Rdtsc | Rdtscp | Rdfsbase | Rdgsbase | Swapgs => Class::ModelRegisterRead,
        Wrmsr | Xsetbv | Wrfsbase | Wrgsbase => Class::ModelRegisterWrite,
        In | Insb | Insw | Insd => Class::PortRead,
        Out | Outsb | Outsw | Outsd => Class::PortWrite,
        Cpuid => Class::Identify,
        Lgdt | Lidt | Lldt | Ltr | Sgdt | Sidt | Sldt | Str | Verr | Verw => Class::Descriptor,
        Smsw => Class::CoprocessorRead,
        Lmsw | Clts => Class::CoprocessorWrite,
        Xsave | Xsave64 | Xsaveopt | Xsaveopt64 | Fxsave | Fxsave64 | Xrstor | Xrstor64 | Fxrstor | Fxrstor64 => {
            Class::ExtendedState
        }
        // Control and status words of the vector unit, and its registers all at once, without memory to save or restore.
        Fnstcw | Fnstsw | Stmxcsr => Class::StatusRead,
        Fldcw | Ldmxcsr => Class::StatusWrite,
        // It clears the upper halves of registers, and waits for nothing.
        Vzeroupper => Class::StatusWrite,
        Fninit | Emms => Class::CoprocessorWrite,
        Vmrun | Vmlaunch | Vmresume => Class::VmEntry,
        Vmload | Vmsave | Stgi | Clgi | Vmptrld | Vmptrst | Vmclear | Vmxon | Vmxoff => Class::VmState,
        Vmread | Vmwrite => Class::VmField,
        Mov => match special_move(decoded) {
            Some(class) => class,
            None => return Ok(None),
        },
        _ if instruction.kind != Kind::Ordinary => return Err(format!("`{}` is in no class", instruction.mnemonic)),
        _ if matches!(instruction.flow, Flow::Leave | Flow::Trap) => Class::ExceptionEntry,
        _ => return Ok(None),
    };
    Ok(Some(Sort::of(class)))
}

/// Moves from and to control, debug and segment registers.
fn special_move(decoded: &iced_x86::Instruction) -> Option<Class> {
    let (to, from) = (decoded.op0_register(), decoded.op1_register());
    if to.is_segment_register() || from.is_segment_register() {
        return Some(Class::Descriptor);
    }
    if to == iced_x86::Register::CR3 {
        return Some(Class::AddressSpace);
    }
    if to.is_cr() || to.is_dr() {
        return Some(Class::CoprocessorWrite);
    }
    (from.is_cr() || from.is_dr()).then_some(Class::CoprocessorRead)
}

/// The class of a computing instruction on registers.
fn computes(mnemonic: Mnemonic) -> Option<Class> {
    use Mnemonic::*;
    Some(match mnemonic {
        Mul | Imul | Mulx | Pmullw | Pmulhw | Pmulhuw | Pmuludq | Pmulld | Pmuldq | Pmaddwd => Class::Multiply,
        Div | Idiv => Class::Divide,
        Mov | Movzx | Movsx | Movsxd | Movbe | Lea | Xchg | Bswap | Push | Pop | Leave | Enter | Add | Adc | Adcx
        | Adox | Sub | Sbb | Cmp | Inc | Dec | Neg | Not | And | Andn | Or | Xor | Test | Shl | Shr | Sar | Shlx
        | Shrx | Sarx | Rol | Ror | Rorx | Rcl | Rcr | Shld | Shrd | Bt | Bts | Btr | Btc | Bsf | Bsr | Tzcnt
        | Lzcnt | Popcnt | Blsr | Blsi | Blsmsk | Bextr | Bzhi | Crc32 | Xadd | Cmpxchg | Cmpxchg8b | Cmpxchg16b => {
            Class::Alu
        }
        Cbw | Cwde | Cdqe | Cwd | Cdq | Cqo | Lahf | Sahf | Clc | Stc | Cmc | Cld | Std | Movsb | Movsw | Movsd
        | Movsq | Stosb | Stosw | Stosd | Stosq | Lodsb | Lodsw | Lodsd | Lodsq | Cmpsb | Cmpsw | Cmpsd | Cmpsq
        | Scasb | Scasw | Scasd | Scasq => Class::Alu,
        Cmova | Cmovae | Cmovb | Cmovbe | Cmove | Cmovg | Cmovge | Cmovl | Cmovle | Cmovne | Cmovno | Cmovnp
        | Cmovns | Cmovo | Cmovp | Cmovs | Seta | Setae | Setb | Setbe | Sete | Setg | Setge | Setl | Setle | Setne
        | Setno | Setnp | Setns | Seto | Setp | Sets => Class::Alu,
        // Vectors of integers: moves, logic, sums (that saturate, too), comparisons, shifts, rearranging.
        Movaps | Movups | Movapd | Movupd | Movdqa | Movdqu | Movd | Movq | Movss | Movhps | Movlps | Movhpd
        | Movlpd | Movhlps | Movlhps | Andps | Andpd | Orps | Orpd | Xorps | Xorpd | Andnps | Andnpd | Pand | Pandn
        | Por | Pxor | Paddb | Paddw | Paddd | Paddq | Psubb | Psubw | Psubd | Psubq | Pcmpeqb | Pcmpeqw | Pcmpeqd
        | Pcmpgtb | Pcmpgtw | Pcmpgtd | Psllw | Pslld | Psllq | Psrlw | Psrld | Psrlq | Psraw | Psrad | Pslldq
        | Psrldq | Pshufd | Pshuflw | Pshufhw | Shufps | Shufpd | Punpcklbw | Punpcklwd | Punpckldq | Punpcklqdq
        | Punpckhbw | Punpckhwd | Punpckhdq | Punpckhqdq | Packsswb | Packuswb | Packssdw | Unpcklps | Unpckhps
        | Unpcklpd | Unpckhpd | Pmovmskb | Movmskps | Movmskpd | Pminub | Pmaxub | Pminsw | Pmaxsw | Pavgb | Pavgw
        | Psadbw | Pextrw | Pinsrw | Paddsb | Paddsw | Paddusb | Paddusw | Psubsb | Psubsw | Psubusb | Psubusw => {
            Class::Alu
        }
        Addss | Addsd | Addps | Addpd | Subss | Subsd | Subps | Subpd | Mulss | Mulsd | Mulps | Mulpd | Minss
        | Minsd | Minps | Minpd | Maxss | Maxsd | Maxps | Maxpd | Comiss | Comisd | Ucomiss | Ucomisd | Cmpss
        | Cmpps | Cmppd | Cvtsi2ss | Cvtsi2sd | Cvtss2si | Cvtsd2si | Cvttss2si | Cvttsd2si | Cvtss2sd | Cvtsd2ss
        | Cvtps2pd | Cvtpd2ps | Cvtdq2ps | Cvtdq2pd | Cvtps2dq | Cvtpd2dq | Cvttps2dq | Cvttpd2dq => Class::Float,
        Divss | Divsd | Divps | Divpd | Sqrtss | Sqrtsd | Sqrtps | Sqrtpd => Class::FloatDivide,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::sort;
    use wcet_binary::lift::Lifter;
    use wcet_binary::load::{Architecture, Program};
    use wcet_hardware::machine::Class;

    /// What reads a register of the model costs as that, whatever its instruction; only what stops everything is an identification.
    #[test]
    fn counters_are_model_registers() {
        let class = |code: &[u8]| {
            let program = Program::from_code(Architecture::X86_64, 0x1000, code);
            let instruction = Lifter::new(&program).unwrap().lift(0x1000).unwrap();
            sort(&instruction).map(|sort| sort.class)
        };
        // rdtsc; rdtscp; rdmsr; swapgs.
        for code in [&[0x0f, 0x31][..], &[0x0f, 0x01, 0xf9], &[0x0f, 0x32], &[0x0f, 0x01, 0xf8]] {
            assert_eq!(class(code), Ok(Class::ModelRegisterRead));
        }
        // vzeroupper, which clears registers, and fninit, which serializes.
        assert_eq!(class(&[0xc5, 0xf8, 0x77]), Ok(Class::StatusWrite));
        assert_eq!(class(&[0xdb, 0xe3]), Ok(Class::CoprocessorWrite));
        // cpuid; wrmsr; mov ds, which reads a descriptor.
        assert_eq!(class(&[0x0f, 0xa2]), Ok(Class::Identify));
        assert_eq!(class(&[0x0f, 0x30]), Ok(Class::ModelRegisterWrite));
        assert_eq!(class(&[0x8e, 0xda]), Ok(Class::Descriptor));
    }

    #[test]
    fn floating_point_has_classes_of_its_own() {
        let class = |code: &[u8]| {
            let program = Program::from_code(Architecture::X86_64, 0x1000, code);
            let instruction = Lifter::new(&program).unwrap().lift(0x1000).unwrap();
            sort(&instruction).map(|sort| sort.class)
        };
        // addsd, with a register and with memory; comisd; cvttss2si; divss; sqrtsd.
        assert_eq!(class(&[0xf2, 0x0f, 0x58, 0xc1]), Ok(Class::Float));
        assert_eq!(class(&[0xf2, 0x0f, 0x58, 0x07]), Ok(Class::Float));
        assert_eq!(class(&[0x66, 0x0f, 0x2f, 0xc1]), Ok(Class::Float));
        assert_eq!(class(&[0xf3, 0x0f, 0x2c, 0xc0]), Ok(Class::Float));
        assert_eq!(class(&[0xf3, 0x0f, 0x5e, 0xc1]), Ok(Class::FloatDivide));
        assert_eq!(class(&[0xf2, 0x0f, 0x51, 0xc1]), Ok(Class::FloatDivide));
        // Two instructions have the name cmpsd: this one compares numbers, and one compares strings.
        assert_eq!(class(&[0xf2, 0x0f, 0xc2, 0xc1, 0x00]), Ok(Class::Float));
        assert_eq!(class(&[0xa7]), Ok(Class::Load));
        // x87 has no class: fadd.
        assert!(class(&[0xd8, 0xc1]).is_err());
    }
}
