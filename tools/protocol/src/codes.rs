//! The codes of faults in protocols. `tests/broken/` holds a protocol for each. Names are stable; a code that goes is not
//! used again.

diagnostics::codes! {
    /// A kind of fault, with a stable name such as `ASH-P009`.
    pub enum Code;
    Unreadable "ASH-P001" "a protocol cannot be read"
        "The file does not exist, may not be opened, or is not UTF-8 text."
    Syntax "ASH-P002" "a line that is not of the protocol language"
        "Every line is one of: `protocol`, `in`, `out`, `request`, `state`, `region`, a field or rule of a message, or \
         an edge such as `?probe -> Probing`. The reference page of the language lists them."
    Indentation "ASH-P003" "a line stands at the wrong depth"
        "Indentation gives the structure: what is inside a state, region or message stands deeper than its first line, \
         and lines that belong together stand equally deep. Use spaces; tabs look different in every editor."
    Duplicate "ASH-P004" "a name is declared twice"
        "Messages, states, requests and the fields of a message each have a name of their own. Names of states are \
         unique in the whole protocol, so that an edge can name any of them."
    UnknownName "ASH-P005" "a name that is not declared"
        "An edge names a message or a state, or a message names a request, that the protocol does not declare."
    WrongDirection "ASH-P006" "an edge that turns a message round"
        "`?` is a message that the driver receives (`in`), `!` one that it sends (`out`). A message has one direction."
    Initial "ASH-P007" "it is not said where to begin"
        "Among the states inside the protocol, inside a superstate and inside a region, exactly one is `initial`: the \
         state that is entered when an edge leads to what is around it."
    Payload "ASH-P008" "a payload that cannot be"
        "Fields are u8, u16, u32 or u64, alone or as an array, and take 40 bytes together, for a message is one cache \
         line. A range lies within its type. A message has at most one cookie; some message must open the requests \
         that another one closes."
    Nondeterminism "ASH-P009" "one message, two edges"
        "In a state that the protocol reaches, the same message takes two edges: two of one state, or one of a state \
         and one of its superstate. The next state is ambiguous. Drop one edge, or move the superstate's edge to the \
         states that need it."
    TwoRegions "ASH-P010" "one message, two regions"
        "Regions run side by side and are independent: a message belongs to one of them at a time. Here two regions \
         could both take it. Let one region own the message, or merge the regions."
    Unused "ASH-P011" "declared, never used"
        "No edge that can be taken carries the message (or no message uses the request). A declaration without use is \
         mostly a forgotten edge."
    DeadEnd "ASH-P012" "a state that nothing leaves"
        "No message is enabled, so the driver can only return, and it may return only in a final state. Add the edge \
         that is missing, or mark the state `final`."
    Unreachable "ASH-P013" "a state that is never reached"
        "No sequence of messages leads from the initial state to this state, so nothing that is written in it counts."
    TimedStuck "ASH-P014" "a timed state that no output leaves"
        "In a `timed` state the driver must send a message that leaves it. From here no sequence of messages within \
         the state ends with such an output."
    FairSilent "ASH-P015" "a fair state in which nothing comes"
        "`fair` promises that one of the enabled incoming messages comes. None is enabled, so there is nothing to \
         promise and an AWAIT would wait for ever."
    NoEnd "ASH-P016" "no final state can be reached"
        "From this state no sequence of messages leads to a final state, so a driver in it may never return."
    TimedFinal "ASH-P017" "final while an answer is owed"
        "In a timed state the client waits for the driver; if the state were final, the driver could return without \
         answering."
    Crossing "ASH-P018" "an edge from one region into another"
        "An edge stays inside its region or leaves the whole superstate. Let both regions react to messages of their \
         own, or write the edge on the superstate."
    TooLarge "ASH-P019" "too many states"
        "Side by side, the regions make more combinations than can be handled. Drop a region, or let a region begin \
         only where it is needed."
    Binding "ASH-P020" "a binding to another protocol that does not hold together"
        "`needs PROTOCOL STATE` names a state of another protocol, whose file stands beside this one or is Ashlar's own. Bound protocols \
         have different numbers, because one driver speaks both."
    Decomposition "ASH-P021" "the subprotocols together allow what the protocol forbids"
        "With the chosen alphabets, every subprotocol allows a message where the protocol does not, or a property of \
         the protocol's state cannot be read off any of them. Add letters to an alphabet."
    Name "ASH-P022" "a name or number that a project's protocol cannot have"
        "The file of the protocol NAME is called `NAME.proto`, after which its header and its tables are called. Ashlar's own \
         protocols can be used in every project, so none of a project's has the name of one of them. The number, 1 to 15, is \
         the high byte of its mailboxes."
}
