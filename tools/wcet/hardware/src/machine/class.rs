//! Classes of instructions: what a machine file gives costs to, and what a decoder sorts instructions into.

macro_rules! classes {
    ($($variant:ident $name:literal $meaning:literal)*) => {
        /// A class of instructions that cost the same.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Class { $(#[doc = $meaning] $variant),* }

        impl Class {
            pub const ALL: &'static [Class] = &[$(Class::$variant),*];

            /// Its name in a machine file.
            pub fn name(self) -> &'static str {
                match self { $(Class::$variant => $name),* }
            }

            pub fn meaning(self) -> &'static str {
                match self { $(Class::$variant => $meaning),* }
            }
        }
    };
}

classes! {
    Alu "alu" "Arithmetic, logic, moves between registers, address computation."
    Shift "shift" "Shifts by instructions of their own, of RISC-V; as `alu` where a machine file has no such class."
    Nop "nop" "Instructions without effect."
    Multiply "multiply" "Integer multiplication."
    Divide "divide" "Integer division, at its slowest."
    Float "float" "Arithmetic on floating-point numbers: sums, products, comparisons, conversions."
    FloatDivide "float_divide" "Quotients and roots of floating-point numbers, at their slowest."
    Load "load" "Reads of memory, one or several."
    Store "store" "Writes of memory, one or several."
    Update "update" "Reads and writes of memory by one instruction."
    Branch "branch" "Jumps, calls and returns, conditional or not."
    Atomic "atomic" "Locked or exclusive accesses."
    StatusRead "status_read" "Reads of the processor status (mrs, pushf)."
    StatusWrite "status_write" "Writes of the processor status (msr, popf)."
    ModeChange "mode_change" "Changes of the processor's mode or interrupt mask (cps, cli, sti)."
    CoprocessorRead "coprocessor_read" "Reads of system registers (mrc, mov from cr)."
    CoprocessorWrite "coprocessor_write" "Writes of system registers (mcr, mov to cr)."
    AddressSpace "address_space" "Changes of the address space (mcr to TTBR, mov to cr3)."
    TlbInvalidate "tlb_invalidate" "Removal of translations (mcr to TLB operations, invlpg, invlpga)."
    CacheMaintenance "cache_maintenance" "Cleaning or invalidating caches (mcr to cache operations, wbinvd, clflush)."
    BarrierInstruction "barrier_instruction" "Instruction barriers (isb)."
    BarrierData "barrier_data" "Data barriers (dsb, dmb, mfence)."
    ExceptionEntry "exception_entry" "The processor's own work on an exception, up to the handler's first fetch."
    ExceptionReturn "exception_return" "Return from an exception (movs pc, rfe, iret, sysret)."
    SystemCall "system_call" "Calls into the kernel (svc, syscall)."
    Wait "wait" "Waiting for an interrupt (wfi, hlt), without the time waited."
    ModelRegisterRead "model_register_read" "Reads of model-specific registers (rdmsr), counters among them (rdtsc), and exchanges with one (swapgs)."
    ModelRegisterWrite "model_register_write" "Writes of model-specific registers (wrmsr)."
    PortRead "port_read" "Reads of I/O ports (in)."
    PortWrite "port_write" "Writes of I/O ports (out)."
    Identify "identify" "Identification (cpuid)."
    Descriptor "descriptor" "Segment and descriptor registers (lgdt, lidt, ltr, verw, mov ds)."
    ExtendedState "extended_state" "Saving and restoring vector state (xsave, fxrstor)."
    VmEntry "vm_entry" "Entry into a guest (vmrun, vmlaunch), and its exit, without the guest's time."
    VmState "vm_state" "Accesses of virtual-machine state (vmload, vmsave, stgi, clgi, vmptrld)."
    VmField "vm_field" "Accesses of one field of virtual-machine state (vmread, vmwrite)."
}

impl Class {
    pub fn parse(name: &str) -> Option<Class> {
        Class::ALL.iter().copied().find(|class| class.name() == name)
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
