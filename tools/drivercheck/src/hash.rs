//! Maps and sets with a quick hash function, the same in every run: nothing here is chosen by who would attack one.

use foldhash::fast::FixedState;

pub type HashMap<K, V> = std::collections::HashMap<K, V, FixedState>;
pub type HashSet<K> = std::collections::HashSet<K, FixedState>;
