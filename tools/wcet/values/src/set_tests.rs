//! Sets against their members: whatever members give, the set must hold.

use testing::Random;
use wcet_binary::lift::evaluate::{self, mask, signed};
use wcet_binary::lift::il::{Binary, Unary};

use crate::set::Set;
use crate::transfer;

/// Random numbers, sets and members.
struct Samples(Random);

impl Samples {
    fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit)
    }

    /// Near 0, near the ends of signed and unsigned numbers, or anywhere.
    fn number(&mut self, size: u8) -> u128 {
        let near = match self.below(5) {
            0 => 0,
            1 => mask(size) >> 1,
            2 => mask(size),
            3 => 1 << self.below(8 * usize::from(size)),
            _ => u128::from(self.0.next()),
        };
        near.wrapping_add(self.below(20) as u128).wrapping_sub(10) & mask(size)
    }

    fn set(&mut self, size: u8) -> Set {
        let low = self.number(size);
        match self.below(8) {
            0 => Set::single(low, size),
            1 => Set::full(size),
            2 => Set::range(low, self.number(size), size),
            3 => Set::aligned(low, 1 << self.below(8), size),
            _ => {
                let stride = 1 + self.below(12) as u128;
                let span = stride * self.below(10) as u128;
                if span > mask(size) {
                    return Set::single(low, size);
                }
                Set::new(low, low.wrapping_add(span), stride, size)
            }
        }
    }

    fn member(&mut self, set: &Set) -> u128 {
        let others = set.others();
        let index = match self.below(4) {
            0 => 0,
            1 => others,
            _ if others >= u128::from(u64::MAX) => u128::from(self.0.next()),
            _ => u128::from(self.0.next() % (others as u64 + 1)),
        };
        set.low.wrapping_add(index * set.stride) & mask(set.size)
    }

    fn size(&mut self) -> u8 {
        [1, 1, 2, 4, 8][self.below(5)]
    }
}

#[test]
fn operations_hold_the_results_of_members() {
    let mut random = Samples(Random(1));
    for _ in 0..400_000 {
        let size = random.size();
        let (a, b) = (random.set(size), random.set(size));
        let (x, y) = (random.member(&a), random.member(&b));
        assert!(a.contains(x) && b.contains(y), "{a:?} {x:#x} {b:?} {y:#x}");
        let operation = random.0.pick(Binary::ALL);
        let result = if crate::state::is_comparison(operation) { 1 } else { size };
        if let Some(number) = evaluate::binary(operation, x, y, size) {
            let set = transfer::binary(operation, &a, &b, result);
            assert!(
                set.contains(number),
                "{operation:?} {a:?} {b:?} gives {set:?} without {x:#x}, {y:#x}: {number:#x}"
            );
            if result == 1 && crate::state::is_comparison(operation) {
                let truth = if number != 0 { operation } else { return_opposite(operation) };
                if let Some((left_a, left_b)) = refined(truth, number != 0, operation, &a, &b) {
                    assert!(left_a.contains(x) && left_b.contains(y), "{operation:?} {a:?} {b:?} {x:#x} {y:#x}");
                }
            }
        }
        let operation = random.0.pick(Unary::ALL);
        let result = match operation {
            Unary::ZeroExtend | Unary::SignExtend => size.max(random.size()),
            Unary::BoolNot => 1,
            _ => size,
        };
        if let Some(number) = evaluate::unary(operation, x, size, result) {
            let set = transfer::unary(operation, &a, result);
            assert!(set.contains(number), "{operation:?} {a:?} gives {set:?} without {x:#x}: {number:#x}");
        }
        let part = 1 + random.below(size.into()) as u8;
        let at = random.below((size - part + 1).into()) as u8;
        let number = x >> (8 * u32::from(at)) & mask(part);
        assert!(transfer::extract(&a, at, part).contains(number), "{a:?} {x:#x} {at} {part}");
        let number = x << (8 * u32::from(size)) | y;
        assert!(transfer::concat(&a, &b).contains(number), "{a:?} {b:?} {x:#x} {y:#x}");
    }
}

fn return_opposite(operation: Binary) -> Binary {
    match operation {
        Binary::Equal => Binary::NotEqual,
        Binary::NotEqual => Binary::Equal,
        other => other,
    }
}

/// What refining leaves where the comparison came out as it did. Panics if it says that this cannot be.
fn refined(truth: Binary, holds: bool, operation: Binary, a: &Set, b: &Set) -> Option<(Set, Set)> {
    let swapped = match (operation, holds) {
        (Binary::Less, false) => Some(Binary::LessEqual),
        (Binary::LessEqual, false) => Some(Binary::Less),
        (Binary::LessSigned, false) => Some(Binary::LessEqualSigned),
        (Binary::LessEqualSigned, false) => Some(Binary::LessSigned),
        (Binary::Carry | Binary::CarrySigned | Binary::BorrowSigned, _) => return None,
        _ => None,
    };
    match swapped {
        Some(operation) => {
            let (b, a) = transfer::refine(operation, b, a).expect("it can be");
            Some((a, b))
        }
        None => Some(transfer::refine(truth, a, b).expect("it can be")),
    }
}

#[test]
fn lattice_operations_lose_no_member() {
    let mut random = Samples(Random(2));
    let thresholds = [0, 9, 10, 11, 99, 100, 127, 255, 1000, 32767];
    for _ in 0..400_000 {
        let size = random.size();
        let (a, b) = (random.set(size), random.set(size));
        let (x, y) = (random.member(&a), random.member(&b));
        let join = a.join(&b);
        assert!(join.contains(x) && join.contains(y) && join.includes(&a) && join.includes(&b), "{a:?} {b:?} {join:?}");
        let wide = a.widen(&b, &thresholds);
        assert!(wide.contains(x) && wide.contains(y), "{a:?} {b:?} {wide:?}");
        if a.includes(&b) {
            assert!(a.contains(y), "{a:?} includes {b:?} but not {y:#x}");
        }
        match a.meet(&b) {
            Some(meet) => assert!(!b.contains(x) || meet.contains(x), "{a:?} {b:?} {meet:?} {x:#x}"),
            None => assert!(!b.contains(x), "{a:?} {b:?} {x:#x}"),
        }
        if let Some(left) = a.without(y) {
            assert!(x == y || left.contains(x), "{a:?} without {y:#x} is {left:?}");
        } else {
            assert_eq!(x, y);
        }
        let (low, high) = a.signed();
        assert!((low..=high).contains(&signed(x, size)));
    }
}

#[test]
fn widening_comes_to_an_end() {
    let mut random = Samples(Random(3));
    let thresholds = [0, 9, 10, 11, 99, 100, 127, 255, 1000, 32767];
    for _ in 0..3_000 {
        let size = random.size();
        let mut set = random.set(size);
        let mut changes = 0;
        for _ in 0..200 {
            let next = set.widen(&random.set(size), &thresholds);
            changes += u32::from(next != set);
            set = next;
        }
        assert!(changes < 40, "{changes} changes up to {set:?}");
    }
}
