//! Maps from numbers that share what is equal: copies are free, and joining two skips what they have in common.
//!
//! Patricia trees (Okasaki and Gill 1998), most significant bit first, so keys come in order.

use std::rc::Rc;

#[derive(Debug)]
pub(crate) struct Tree<V>(Option<Rc<Node<V>>>);

#[derive(Debug, Clone)]
enum Node<V> {
    Leaf(u64, V),
    /// Keys below agree with `prefix` above `bit`; those on the left have `bit` clear.
    Branch {
        prefix: u64,
        bit: u64,
        left: Rc<Node<V>>,
        right: Rc<Node<V>>,
    },
}

impl<V> Clone for Tree<V> {
    fn clone(&self) -> Self {
        Tree(self.0.clone())
    }
}

impl<V> Default for Tree<V> {
    fn default() -> Self {
        Tree(None)
    }
}

/// `key` with `bit` and all below cleared.
fn above(key: u64, bit: u64) -> u64 {
    key & !(bit | (bit - 1))
}

impl<V> Node<V> {
    /// First and last key that could be below.
    fn extent(&self) -> (u64, u64) {
        match self {
            Node::Leaf(key, _) => (*key, *key),
            Node::Branch { prefix, bit, .. } => (*prefix, prefix | bit | (bit - 1)),
        }
    }
}

fn link<V>(a: Rc<Node<V>>, b: Rc<Node<V>>) -> Rc<Node<V>> {
    let (x, y) = (a.extent().0, b.extent().0);
    let bit = 1 << (63 - (x ^ y).leading_zeros());
    let prefix = above(x, bit);
    let (left, right) = if x & bit == 0 { (a, b) } else { (b, a) };
    Rc::new(Node::Branch { prefix, bit, left, right })
}

impl<V: Clone> Tree<V> {
    pub fn get(&self, key: u64) -> Option<&V> {
        let mut node = self.0.as_ref()?;
        loop {
            match &**node {
                Node::Leaf(found, value) => return (*found == key).then_some(value),
                Node::Branch { prefix, bit, left, right } => {
                    if above(key, *bit) != *prefix {
                        return None;
                    }
                    node = if key & bit == 0 { left } else { right };
                }
            }
        }
    }

    pub fn insert(&mut self, key: u64, value: V) {
        match &mut self.0 {
            None => self.0 = Some(Rc::new(Node::Leaf(key, value))),
            Some(root) => insert(root, key, value),
        }
    }

    /// Calls `visit` for each entry with a key from `first` to `last`, in order.
    pub fn visit(&self, first: u64, last: u64, visit: &mut impl FnMut(u64, &V)) {
        if let Some(root) = &self.0 {
            walk(root, first, last, visit);
        }
    }

    /// Keeps what `keep` gives of each entry; what it does not change stays shared.
    pub fn filter(&self, keep: &mut impl FnMut(u64, &V) -> Kept<V>) -> Tree<V> {
        Tree(self.0.as_ref().and_then(|root| filter(root, keep)))
    }

    /// Joins two maps: `both` for a key that both have, `one` for a key of one (true: of the first). Parts that both
    /// share are taken as they are if `share`.
    pub fn join(
        &self,
        other: &Tree<V>,
        share: bool,
        both: &mut impl FnMut(u64, &V, &V) -> Option<V>,
        one: &mut impl FnMut(u64, &V, bool) -> Option<V>,
    ) -> Tree<V> {
        Tree(match (&self.0, &other.0) {
            (None, None) => None,
            (Some(a), None) => filter(a, &mut |key, value| Kept::from(one(key, value, true))),
            (None, Some(b)) => filter(b, &mut |key, value| Kept::from(one(key, value, false))),
            (Some(a), Some(b)) => join(a, b, share, both, one),
        })
    }
}

/// What becomes of an entry.
pub(crate) enum Kept<V> {
    Same,
    New(V),
    Gone,
}

impl<V> From<Option<V>> for Kept<V> {
    fn from(value: Option<V>) -> Self {
        value.map_or(Kept::Gone, Kept::New)
    }
}

fn insert<V: Clone>(node: &mut Rc<Node<V>>, key: u64, value: V) {
    let (first, last) = node.extent();
    if key < first || key > last {
        let old = Rc::clone(node);
        *node = link(old, Rc::new(Node::Leaf(key, value)));
        return;
    }
    match Rc::make_mut(node) {
        Node::Leaf(_, old) => *old = value,
        Node::Branch { bit, left, right, .. } => insert(if key & *bit == 0 { left } else { right }, key, value),
    }
}

fn walk<V>(node: &Rc<Node<V>>, first: u64, last: u64, visit: &mut impl FnMut(u64, &V)) {
    let (low, high) = node.extent();
    if high < first || low > last {
        return;
    }
    match &**node {
        Node::Leaf(key, value) => visit(*key, value),
        Node::Branch { left, right, .. } => {
            walk(left, first, last, visit);
            walk(right, first, last, visit);
        }
    }
}

/// What is left of one side of a branch.
type Side<V> = Option<Rc<Node<V>>>;

fn rebuild<V>(
    old: &Rc<Node<V>>,
    (left, right): (&Rc<Node<V>>, &Rc<Node<V>>),
    (new_left, new_right): (Side<V>, Side<V>),
) -> Side<V> {
    match (new_left, new_right) {
        (Some(a), Some(b)) if Rc::ptr_eq(&a, left) && Rc::ptr_eq(&b, right) => Some(Rc::clone(old)),
        (Some(a), Some(b)) => Some(link(a, b)),
        (a, b) => a.or(b),
    }
}

fn filter<V: Clone>(node: &Rc<Node<V>>, keep: &mut impl FnMut(u64, &V) -> Kept<V>) -> Option<Rc<Node<V>>> {
    match &**node {
        Node::Leaf(key, value) => match keep(*key, value) {
            Kept::Same => Some(Rc::clone(node)),
            Kept::New(value) => Some(Rc::new(Node::Leaf(*key, value))),
            Kept::Gone => None,
        },
        Node::Branch { left, right, .. } => {
            let new = (filter(left, keep), filter(right, keep));
            rebuild(node, (left, right), new)
        }
    }
}

fn join<V: Clone>(
    a: &Rc<Node<V>>,
    b: &Rc<Node<V>>,
    share: bool,
    both: &mut impl FnMut(u64, &V, &V) -> Option<V>,
    one: &mut impl FnMut(u64, &V, bool) -> Option<V>,
) -> Option<Rc<Node<V>>> {
    if share && Rc::ptr_eq(a, b) {
        return Some(Rc::clone(a));
    }
    let alone = |node: &Rc<Node<V>>, first: bool, one: &mut dyn FnMut(u64, &V, bool) -> Option<V>| {
        filter(node, &mut |key, value| Kept::from(one(key, value, first)))
    };
    let ((a_low, a_high), (b_low, b_high)) = (a.extent(), b.extent());
    if a_high < b_low || b_high < a_low {
        let new = (alone(a, true, one), alone(b, false, one));
        return match new {
            (Some(a), Some(b)) => Some(link(a, b)),
            (a, b) => a.or(b),
        };
    }
    match (&**a, &**b) {
        (Node::Leaf(key, x), Node::Leaf(_, y)) => both(*key, x, y).map(|value| Rc::new(Node::Leaf(*key, value))),
        (Node::Branch { bit: bit_a, left, right, .. }, Node::Branch { bit: bit_b, left: l, right: r, .. })
            if bit_a == bit_b =>
        {
            let new = (join(left, l, share, both, one), join(right, r, share, both, one));
            rebuild(a, (left, right), new)
        }
        _ => {
            // One is inside one side of the other.
            let a_is_larger = a_high - a_low >= b_high - b_low;
            let (large, small) = if a_is_larger { (a, b) } else { (b, a) };
            let Node::Branch { bit, left, right, .. } = &**large else { return None };
            let inside_left = small.extent().0 & bit == 0;
            let (side, rest) = if inside_left { (left, right) } else { (right, left) };
            let met =
                if a_is_larger { join(side, small, share, both, one) } else { join(small, side, share, both, one) };
            let rest = alone(rest, a_is_larger, one);
            match (met, rest) {
                (Some(a), Some(b)) => Some(link(a, b)),
                (a, b) => a.or(b),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Numbers that look random and are the same each time.
    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    fn entries(tree: &Tree<u64>) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        tree.visit(0, u64::MAX, &mut |key, value| found.push((key, *value)));
        found
    }

    #[test]
    fn a_tree_is_a_map() {
        let mut state = 7;
        for round in 0..50 {
            let (mut tree, mut map) = (Tree::default(), BTreeMap::new());
            let width = 1 + round % 40;
            for _ in 0..200 {
                let (key, value) = (random(&mut state) >> (64 - width), random(&mut state));
                let before = tree.clone();
                let was = entries(&before);
                tree.insert(key, value);
                map.insert(key, value);
                assert_eq!(entries(&before), was);
            }
            assert_eq!(entries(&tree), map.iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>());
            let (first, last) = (random(&mut state) >> (64 - width), random(&mut state) >> (64 - width));
            let mut seen = Vec::new();
            tree.visit(first, last, &mut |key, _| seen.push(key));
            assert_eq!(seen, map.keys().copied().filter(|k| (first..=last).contains(k)).collect::<Vec<_>>());
            assert!((0..64).all(|key| tree.get(key) == map.get(&key)));
        }
    }

    #[test]
    fn joining_meets_every_key_once() {
        let mut state = 9;
        for round in 0..200 {
            let width = 2 + round % 30;
            let mut a = Tree::default();
            for _ in 0..random(&mut state) % 60 {
                a.insert(random(&mut state) >> (64 - width), random(&mut state) % 5);
            }
            let mut b = a.clone();
            for _ in 0..random(&mut state) % 20 {
                b.insert(random(&mut state) >> (64 - width), random(&mut state) % 5);
            }
            let mut c = Tree::default();
            for _ in 0..random(&mut state) % 60 {
                c.insert(random(&mut state) >> (64 - width), random(&mut state) % 5);
            }
            for (x, y) in [(&a, &b), (&b, &a), (&a, &c), (&c, &b)] {
                let sum = x.join(y, true, &mut |_, p, q| Some(*p.max(q)), &mut |_, p, first| {
                    Some(p + if first { 10 } else { 20 })
                });
                let (p, q): (BTreeMap<_, _>, BTreeMap<_, _>) =
                    (entries(x).into_iter().collect(), entries(y).into_iter().collect());
                let mut expected = BTreeMap::new();
                for key in p.keys().chain(q.keys()) {
                    let value = match (p.get(key), q.get(key)) {
                        (Some(v), Some(w)) => *v.max(w),
                        (Some(v), None) => v + 10,
                        (None, Some(w)) => w + 20,
                        (None, None) => unreachable!(),
                    };
                    expected.insert(*key, value);
                }
                assert_eq!(entries(&sum), expected.into_iter().collect::<Vec<_>>());
            }
        }
    }
}
