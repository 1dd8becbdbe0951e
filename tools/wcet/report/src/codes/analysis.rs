//! What stands in the way of a bound.

diagnostics::codes! {
    /// A kind of error, with a stable name such as `ASH-T005`.
    pub enum Code;
    Unreadable "ASH-T001" "a file cannot be read"
        "The program, the file of constraints, or the machine file does not exist or may not be opened. Check the name, \
         the folder and the permissions."
    Executable "ASH-T002" "the file is no executable that can be analysed"
        "Only ELF executables that need no shared library are read, for x86-64, for 32-bit ARM and for RISC-V of \
         32 or 64 bits. A file that is cut off, or whose tables contradict each other, is refused whole; so is one for ARM whose \
         entry point names the other instruction set than stands there. Link with -static -no-pie or -static-pie."
    NoSymbol "ASH-T003" "a name that the executable does not have"
        "An entry, a stop, or a name in a statement is neither a symbol of the executable nor an address in its code. \
         Inlined and stripped functions have no symbol: name an address, or an offset as in name+0x10."
    Instruction "ASH-T004" "an instruction that is not understood"
        "The bytes are no instruction, or one whose effect on registers and memory is not known; or, on ARM, control comes to them in \
         the other state, as data, or in the midst of an instruction or of the block of an it instruction. Without its effect, nothing \
         behind it is known, so there is no bound at all. Compile without the extension that it belongs to, or bound a \
         region that does not reach it: --stop ADDRESS."
    Unresolved "ASH-T005" "a jump or call whose targets cannot be told"
        "Control goes to an address that is computed, and neither a table of targets in read-only memory nor a constant was \
         found. A target that is missed would be a path without a bound. State all of them: --targets ADDRESS=SYMBOL,..."
    StrangeReturn "ASH-T006" "a return to another place than the caller"
        "A function returns with an address that is not the one it was called with, as far as the stack can be followed: it \
         switches stacks, or uses the return as a jump. State a switch with --switch SYMBOL=SYMBOL,..., other targets with \
         --targets."
    Recursion "ASH-T007" "recursion without a stated depth"
        "A function calls itself, directly or through others. How deep it goes is not inferred. State it: --recursion \
         SYMBOL=DEPTH; calls that go deeper are then assumed not to happen, and the report says so."
    Irreducible "ASH-T008" "a loop without a single header"
        "Control can enter the loop at several places, so that there is no block whose executions count its iterations. \
         Copying blocks makes such loops ordinary: --copies NUMBER allows so many copies."
    SelfModifying "ASH-T009" "code that may be written"
        "The code lies in memory that the program may write, or an access that is not known may reach it. What is executed \
         then need not be what the file holds. Link code into a segment of its own that is not writable, or state that \
         it is never written: --fixed-code."
    TooLarge "ASH-T010" "more calling contexts than can be analysed"
        "Every chain of calls is analysed apart, and there are more than the limit. The message names the function whose \
         copies have the most blocks. Bound smaller regions, from an entry to a stop, and add them up. Where memory is as \
         the file has it and the region has one run, the limit is four times as high."
    NoCost "ASH-T011" "an instruction for which the machine file has no cost"
        "The machine file says nothing about instructions of this class, and no time is guessed. Add a [class.NAME] to the \
         machine file, with its source."
    Statement "ASH-T012" "a statement that cannot be understood"
        "An option, a constraint or a number does not have its form, or two of them contradict each other. `ashlar timing \
         --help` and the reference page show the forms."
    Refuted "ASH-T013" "a stated constraint that does not hold, or is not shown to hold"
        "Each constraint is checked against the binary before it counts. The report shows an execution that breaks it, or \
         says that none was found and none was excluded in the time given. Correct the constraint, or drop it: the bound \
         without it holds too."
    Tool "ASH-T014" "a part of the analyser that cannot work"
        "A program that the analyser runs as a process of its own is missing or fails: the solver z3, for instance. \
         `ashlar doctor` says what this machine lacks and how to get it."
    TimedOut "ASH-T015" "no time left before the first bound"
        "The time given with --timeout ended before loops were bounded and costs were known. Bounds only become better with \
         more time, but the first one needs some: give more, or bound a smaller region."
    Unbounded "ASH-T016" "a loop without a bound"
        "Neither inference nor model checking found how often the loop's header is executed at most. The report says why, \
         and which fact would be enough. State it as a constraint, which is checked, or let the program hold it: a limit in \
         a constant, a counter that is compared."
    Wait "ASH-T017" "an instruction that waits for an event"
        "How long it waits is up to others: an interrupt, another processor. No bound covers that. End the region before it \
         with --stop ADDRESS, and begin another one behind it."
    NoEnd "ASH-T018" "no way from the entry to an end"
        "Nothing that the entry reaches returns, leaves for another privilege, or stops: a program that runs for ever has \
         no longest time. State where the region ends: --stop ADDRESS."
}

impl Code {
    /// Exit status: 1 for a finding about the program, 2 if the request could not be carried out.
    pub fn status(self) -> u8 {
        match self {
            Code::Unreadable | Code::NoSymbol | Code::Statement | Code::Tool => 2,
            _ => 1,
        }
    }
}
