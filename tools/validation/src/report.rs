//! What a run found, for people and for programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contracts::ARCH;

/// What is taken for granted where a function is said to be validated.
pub const TRUSTED: [&str; 15] = [
    "the lifter's semantics of instructions: two decoders must agree on each one, and tests compare forms with an emulator",
    "this checker, and the answers of the solvers that something cannot be: z3, and a second solver where the report says so",
    "the inlined forms of primitives of arch, and what those that are called change (tools/validation/src/primitives.rs); these do what arch.h says",
    "what start-up leaves of the clock's base and factor and of processors' numbers does not change afterwards",
    "the bodies of the functions of arch and start that are listed as trusted; that contracts of the others (proof/arch) ask of the machine what its manuals do",
    "entries from user mode find the CPU's record as start-up or the last switch has left it; a call comes back on the thread that made it",
    "exits of guests find the host as start-up has saved it (host_block) and written it into the control structures; a guest changes nothing but frames, its control block and the lists of its registers",
    "callers that are not validated keep to the bounds of arguments within which functions are validated (each names its own)",
    "the C is never stuck: theorems show it of certified functions; of others that their indices, shifts and divisors are in range is assumed",
    "a CPU's stack, its per-CPU record, frames that the C names, the objects of the image, and registers and tables of devices share no bytes; the stack is deep enough (kernel/stack_depth.awk)",
    "interrupts stay off: they are opened in arch alone; NMI and machine check have stacks of their own and keep all registers; a thread stays on its CPU",
    "memory that the term owns changes by this CPU alone, and each CPU's stores become visible in their order (x86-TSO)",
    "which lock guards a scalar of a named object does not depend on what memory holds (proof/layers/Guards.v, for certified layers)",
    "page tables map the image as it is linked, and its text is not written",
    "the loader puts the image's bytes where its headers say",
];

/// `ashlar prove --binary`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BinaryResult {
    /// In the order in which they were validated.
    pub images: Vec<ImageResult>,
    /// What is taken for granted of all of them.
    pub trusted: Vec<String>,
}

impl BinaryResult {
    pub fn of(images: Vec<ImageResult>) -> BinaryResult {
        BinaryResult { images, trusted: TRUSTED.iter().map(ToString::to_string).collect() }
    }
}

/// An image of the kernel.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImageResult {
    pub image: String,
    pub functions: Vec<FunctionResult>,
    /// Functions of the C of which the image has no copy of their own: they are validated where gcc has put them.
    pub inlined: Vec<String>,
    /// Objects of the C without a place in the image, and why.
    pub objects: Vec<MissingObject>,
    pub share: Share,
    /// The second solver and its version, if there is one here.
    pub second_solver: Option<String>,
    pub arch: ArchShare,
    /// Mutants of the machine code, if they were asked for.
    pub mutants: Option<MutantCounts>,
    pub seconds: f64,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MissingObject {
    pub name: String,
    pub reason: String,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct MutantCounts {
    pub refused: usize,
    /// Each with what was changed, and where.
    pub survived: Vec<String>,
    /// Changes that were drawn and not tried: with them the code does the same, as the lifter and z3 say of their block.
    pub equivalent: usize,
}

/// A function of the image.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FunctionResult {
    pub name: String,
    pub layer: String,
    /// A theorem speaks of its term.
    #[serde(default)]
    pub certified: bool,
    pub validated: bool,
    /// Why it is not validated, each with the instruction.
    pub reasons: Vec<String>,
    /// Those of its own copy, without padding.
    pub instructions: usize,
    pub covered: usize,
    /// Those behind conditions that were executed and never lead there, as long as the C is not stuck.
    #[serde(default)]
    pub unreachable: usize,
    pub queries: u64,
    /// Answers that something cannot be, on which the verdict rests.
    #[serde(default)]
    pub answers: usize,
    /// The second solver has given each of these answers too.
    #[serde(default)]
    pub confirmed: bool,
    pub seconds: f64,
    /// What it is validated for, where that is not all arguments; calls of it in functions that are validated keep to it.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Functions and primitives that it calls, and that are taken to do what their terms or `arch.h` say.
    pub calls: Vec<String>,
    /// Addresses of what was executed, parts of other functions included.
    #[serde(skip)]
    #[schemars(skip)]
    pub covered_addresses: Vec<u64>,
}

impl FunctionResult {
    pub fn of(name: &str, layer: &str) -> FunctionResult {
        FunctionResult { name: name.to_string(), layer: layer.to_string(), ..FunctionResult::default() }
    }
}

/// Instructions that come from the layers' C.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Share {
    pub instructions: usize,
    pub validated: usize,
}

/// Code of the image that comes from no layer: of `arch` and of start-up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ArchShare {
    /// Functions, parts of functions and routines of assembly, and those of which each instruction has been validated.
    pub functions: usize,
    pub validated: usize,
    pub instructions: usize,
    pub validated_instructions: usize,
    /// The others: what they do is trusted.
    pub trusted: Vec<String>,
}

/// What a run found.
#[derive(Debug, Clone, Default)]
pub struct Validation {
    pub functions: Vec<FunctionResult>,
    pub inlined: Vec<String>,
    pub objects: Vec<(String, String)>,
    pub share: Share,
    /// The second solver, if it was asked.
    pub second: Option<String>,
    pub arch: ArchShare,
    pub seconds: f64,
}

/// The schema of [`BinaryResult`].
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(BinaryResult).to_value();
    let generated = "Generated by `tools/target/release/validate --schema`; changes here are lost.";
    schema["$comment"] = serde_json::Value::from(generated);
    schema
}

/// The function that a clone was made of.
pub fn family(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

impl Validation {
    pub fn result(&self, image: &str, mutants: Option<MutantCounts>) -> ImageResult {
        let objects =
            self.objects.iter().map(|(name, reason)| MissingObject { name: name.clone(), reason: reason.clone() });
        ImageResult {
            image: image.to_string(),
            functions: self.functions.clone(),
            inlined: self.inlined.clone(),
            objects: objects.collect(),
            share: self.share,
            second_solver: self.second.clone(),
            arch: self.arch.clone(),
            mutants,
            seconds: self.seconds,
        }
    }

    /// Of the layers, or of `arch`: how many are validated, and how many there are.
    fn counts(&self, is_arch: bool) -> (usize, usize) {
        let of = self.functions.iter().filter(|one| (one.layer == ARCH) == is_arch);
        (of.clone().filter(|one| one.validated).count(), of.count())
    }

    /// The last lines for people.
    pub fn summary(&self) -> Vec<String> {
        let certified: Vec<_> = self.functions.iter().filter(|one| one.certified).collect();
        let both = certified.iter().filter(|one| one.validated).count();
        let Share { instructions, validated } = self.share;
        let percent = (validated * 1000).checked_div(instructions).unwrap_or(0);
        let rests = |one: &&FunctionResult| one.validated;
        let answers: usize = self.functions.iter().filter(rests).map(|one| one.answers).sum();
        let said_twice: usize =
            self.functions.iter().filter(rests).filter(|one| one.confirmed).map(|one| one.answers).sum();
        let second = self.second.as_deref().map_or("no second solver".to_string(), |second| {
            format!("{said_twice} of {answers} answers of z3 that something cannot be are those of {second} too")
        });
        let ((layers, of_layers), (contracts, of_contracts)) = (self.counts(false), self.counts(true));
        let arch = &self.arch;
        vec![
            second,
            format!("{layers} of {of_layers} functions validated in {} s", self.seconds),
            format!("{both} of {} certified functions that have a copy of their own", certified.len()),
            format!("{validated} of {instructions} instructions of the layers' C, {}.{} %", percent / 10, percent % 10),
            format!(
                "{contracts} of {of_contracts} functions of arch with a contract; {} of {} functions of arch and start, {} of {} instructions",
                arch.validated, arch.functions, arch.validated_instructions, arch.instructions
            ),
        ]
    }
}
