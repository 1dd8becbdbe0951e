//! Faults of machine files.

diagnostics::codes! {
    /// A kind of fault, with a stable name such as `ASH-M004`.
    pub enum Code;
    Unreadable "ASH-M001" "a machine file cannot be read"
        "The file does not exist, may not be opened, or is not UTF-8 text. A machine is named by its file's path, or by its \
         name in machines/timing/ without .toml."
    Syntax "ASH-M002" "the text is not TOML"
        "The text breaks TOML's grammar: a quote or bracket is missing, or a value is of no kind that TOML has. One broken \
         line can make the lines after it unreadable, so mend the first fault first."
    UnknownKey "ASH-M003" "a key or table that does not exist"
        "Nothing reads this key, so it is refused rather than ignored: a misspelt latency must not mean none. The reference \
         page of machine files lists every table and key."
    WrongType "ASH-M004" "a value of the wrong type"
        "The key wants another type of value. Every number of a machine is a table { value = ..., source = ... }; sizes, \
         frequencies and ranges are strings."
    Missing "ASH-M005" "a required key or table is missing"
        "The machine cannot be understood without it, and there is no default: a number that is not stated would be a guess. \
         Add it, with its source."
    BadValue "ASH-M006" "a value that cannot be understood or is out of its range"
        "The text does not have the form that its key wants, or the number is not one that a machine can have: a line that \
         is no power of two, a latency of 0. The message says what is wanted."
    BadName "ASH-M007" "a name that cannot be used"
        "Names of caches, regions and sources are small letters, digits, `_` and `-`, and begin with a letter, so that reports and \
         other options can name them. Rename it."
    NoSource "ASH-M008" "a number without a source"
        "A reader of a bound must be able to see where each number came from. Write source = \"NAME: where in it\", or \
         what makes the number a choice."
    UnknownSource "ASH-M009" "a source that the file does not describe"
        "The source of a number begins with a name, and that name has no [source.NAME] with a title. Describe it, or correct \
         the name."
    Geometry "ASH-M010" "size, ways and line of a cache do not fit"
        "A cache has size / (ways * line) sets; sets and line must be powers of two, and with tree PLRU the ways too, none of \
         them locked. One of the numbers is wrong."
    Reliance "ASH-M011" "more ways relied on than the replacement policy guarantees"
        "Of the lines of a set that were accessed last, tree PLRU surely keeps log2(ways) + 1, and FIFO, round-robin and \
         random replacement one. To rely on more would make hits of misses."
    Hierarchy "ASH-M012" "caches do not form a hierarchy"
        "Two caches hold the same at one level, or their lines differ in size: it cannot be told who is asked first, or what is \
         filled. Give each its level, and all the same line."
    Locking "ASH-M013" "pinned lines and locked ways do not fit"
        "Pinned lines need room in the ways that are locked for them, in each set that they fall into, and no more ways can be \
         locked than there are. Pin fewer lines, or lock more ways."
    Overlap "ASH-M014" "regions overlap, or with pinned lines"
        "A region consists of whole lines, an address is in one region at most, and pinned lines are in none. Correct the ranges."
    Timing "ASH-M015" "cycles that contradict each other"
        "A cache that answers later than the next level or memory, or a branch that takes less than execution, fetch and the \
         front of the pipeline together: such a machine does not exist, and its bounds would be wrong. Correct the numbers."
}
