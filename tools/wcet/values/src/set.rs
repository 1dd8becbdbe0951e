//! Sets of numbers of one size: `low`, on by `stride` up to `high`, wrapping around at the size.
//!
//! One form serves signed and unsigned numbers: -3 to 5 is the set that begins at the largest numbers and goes through
//! 0. Every operation on sets (`transfer.rs`) gives a set with all results that members can have.

use wcet_binary::lift::evaluate::mask;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Set {
    pub low: u128,
    pub high: u128,
    /// 0 for a single number. Divides the distance from `low` to `high`.
    pub stride: u128,
    /// In bytes.
    pub size: u8,
}

/// `a % b`. Numbers of 64 bits are the rule, and much faster.
pub(crate) fn modulo(a: u128, b: u128) -> u128 {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => u128::from(a % b),
        _ => a % b,
    }
}

pub(crate) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b > 1 {
        (a, b) = (b, modulo(a, b));
    }
    if b == 0 {
        a
    } else {
        b
    }
}

impl Set {
    pub fn single(number: u128, size: u8) -> Set {
        let number = number & mask(size);
        Set { low: number, high: number, stride: 0, size }
    }

    pub fn full(size: u8) -> Set {
        Set { low: 0, high: mask(size), stride: 1, size }
    }

    /// All numbers from `low` on to `high`, through 0 if `high` is smaller.
    pub fn range(low: u128, high: u128, size: u8) -> Set {
        Set::new(low, high, 1, size)
    }

    /// Where the stride does not divide the distance, the largest one that does and keeps all members.
    pub fn new(low: u128, high: u128, stride: u128, size: u8) -> Set {
        let (low, high) = (low & mask(size), high & mask(size));
        let span = high.wrapping_sub(low) & mask(size);
        Set { low, high, stride: gcd(stride, span).min(span), size }
    }

    /// All numbers that differ from `residue` by multiples of the largest power of two that divides `stride`.
    pub fn aligned(residue: u128, stride: u128, size: u8) -> Set {
        let bits = 8 * u32::from(size.min(16));
        let step = if stride == 0 { 1 } else { 1u128 << stride.trailing_zeros().min(bits - 1) };
        let low = residue & (step - 1);
        Set::new(low, mask(size) - (step - 1) + low, step, size)
    }

    /// The distance from `low` to `high`.
    pub fn span(&self) -> u128 {
        self.high.wrapping_sub(self.low) & mask(self.size)
    }

    pub fn as_single(&self) -> Option<u128> {
        (self.stride == 0).then_some(self.low)
    }

    pub fn is_full(&self) -> bool {
        self.stride == 1 && self.span() == mask(self.size)
    }

    /// One less than the number of members.
    pub fn others(&self) -> u128 {
        match self.stride {
            0 => 0,
            1 => self.span(),
            stride => self.span() / stride,
        }
    }

    /// Whether the set, read as unsigned numbers, does not go through 0.
    pub fn is_straight(&self) -> bool {
        self.low <= self.high
    }

    pub fn contains(&self, number: u128) -> bool {
        let offset = number.wrapping_sub(self.low) & mask(self.size);
        offset <= self.span() && (offset == 0 || self.stride != 0 && modulo(offset, self.stride) == 0)
    }

    /// The least and the largest unsigned number, or beyond.
    pub fn unsigned(&self) -> (u128, u128) {
        if self.is_straight() {
            (self.low, self.high)
        } else {
            (0, mask(self.size))
        }
    }

    /// The least and the largest signed number, or beyond.
    pub fn signed(&self) -> (i128, i128) {
        let sign = |number| wcet_binary::lift::evaluate::signed(number, self.size);
        if sign(self.low) <= sign(self.high) {
            (sign(self.low), sign(self.high))
        } else {
            let top = (mask(self.size) >> 1) as i128;
            (-top - 1, top)
        }
    }

    pub fn includes(&self, other: &Set) -> bool {
        let offset = other.low.wrapping_sub(self.low) & mask(self.size);
        // All numbers with some low bits, wherever they are said to begin.
        let class = self.stride.is_power_of_two() && self.span() > mask(self.size) - self.stride;
        let fits = class || offset <= self.span() && other.span() <= self.span() - offset;
        let divides = |number: u128| number == 0 || self.stride != 0 && modulo(number, self.stride) == 0;
        fits && divides(offset) && divides(other.stride)
    }

    /// The smaller of the two arcs that hold both.
    pub fn join(&self, other: &Set) -> Set {
        if self.includes(other) {
            return *self;
        }
        if other.includes(self) {
            return *other;
        }
        let top = mask(self.size);
        let arc = |a: &Set, b: &Set| {
            let offset = b.low.wrapping_sub(a.low) & top;
            let end = offset.checked_add(b.span()).filter(|end| *end <= top)?;
            let span = end.max(a.span());
            Some((span, Set::new(a.low, a.low.wrapping_add(span), gcd(gcd(a.stride, b.stride), offset), a.size)))
        };
        match (arc(self, other), arc(other, self)) {
            (Some((a, one)), Some((b, two))) => {
                if a <= b {
                    one
                } else {
                    two
                }
            }
            (Some((_, one)), None) | (None, Some((_, one))) => one,
            (None, None) => {
                let offset = other.low.wrapping_sub(self.low) & top;
                Set::aligned(self.low, gcd(gcd(self.stride, other.stride), offset), self.size)
            }
        }
    }

    /// A set with all numbers that are in both; none if there are none.
    pub fn meet(&self, other: &Set) -> Option<Set> {
        if let Some(number) = other.as_single() {
            return self.contains(number).then_some(*other);
        }
        if let Some(number) = self.as_single() {
            return other.contains(number).then_some(*self);
        }
        let (a, b) = if self.stride >= other.stride { (self, other) } else { (other, self) };
        let top = mask(a.size);
        let begin = b.low.wrapping_sub(a.low) & top;
        let whole = a.span();
        let (from, to) = match begin.checked_add(b.span()).filter(|end| *end <= top) {
            Some(end) if begin <= whole => (begin, end.min(whole)),
            Some(_) => return None,
            None => {
                let end = begin.wrapping_add(b.span()) & top;
                if begin <= whole {
                    // Both ends of `a` are in `b`, perhaps not what is between them.
                    return Some(if a.others() <= b.others() { *a } else { *b });
                }
                (0, end.min(whole))
            }
        };
        let from = match modulo(from, a.stride) {
            0 => from,
            rest => from.checked_add(a.stride - rest)?,
        };
        let to = to - modulo(to, a.stride);
        (from <= to).then(|| Set::new(a.low.wrapping_add(from), a.low.wrapping_add(to), a.stride, a.size))
    }

    /// The set without `number`, if that is its first or its last.
    pub fn without(&self, number: u128) -> Option<Set> {
        if self.stride == 0 {
            return (self.low != number).then_some(*self);
        }
        if self.low == number {
            Some(Set::new(self.low.wrapping_add(self.stride), self.high, self.stride, self.size))
        } else if self.high == number {
            Some(Set::new(self.low, self.high.wrapping_sub(self.stride), self.stride, self.size))
        } else {
            Some(*self)
        }
    }

    /// A set that holds both and is one of few: where `other` goes beyond an end, that end moves to the next threshold.
    /// Thresholds are sorted.
    pub fn widen(&self, other: &Set, thresholds: &[u128]) -> Set {
        let joined = self.join(other);
        if joined == *self {
            return joined;
        }
        let top = mask(self.size);
        let stride = if joined.stride == 0 { 1 } else { joined.stride };
        let (mut low, mut high) = (joined.low, joined.high);
        let half = top >> 1;
        if joined.is_straight() {
            if low != self.low {
                let below = thresholds.iter().rev().find(|one| **one <= low).copied().unwrap_or(0);
                low -= (low - below) / stride * stride;
            }
            if high != self.high {
                let ends = thresholds.iter().copied().find(|one| *one >= high && *one <= top);
                let end = ends.unwrap_or(top).min(if high <= half { half } else { top });
                high += (end - high) / stride * stride;
            }
            return Set::new(low, high, stride, self.size);
        }
        let (least, most) = joined.signed();
        if wcet_binary::lift::evaluate::signed(low, self.size) != least {
            return Set::aligned(low, stride, self.size);
        }
        if low != self.low {
            let room = least.wrapping_add(half as i128).wrapping_add(1) as u128;
            low = low.wrapping_sub(room / stride * stride);
        }
        if high != self.high {
            let ends = thresholds.iter().copied().find(|one| *one as i128 >= most && *one <= half);
            let room = ends.unwrap_or(half).wrapping_sub(most as u128);
            high = high.wrapping_add(room / stride * stride);
        }
        Set::new(low, high, stride, self.size)
    }
}
