//! Numbers of which each bit is known or not, and addresses of the stack.

use wcet_binary::lift::evaluate::{binary, float, mask, signed, unary};
use wcet_binary::lift::il::{Binary, Float, Unary};

/// What is known of a number of at most 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// These bits of it; all others are 0 in `number` and not known.
    Bits { number: u128, bits: u128 },
    /// It is so far from where the stack pointer stands at the entry, or the lower bytes of such an address.
    Stack(i64),
    /// A number less where the stack pointer stands at the entry: half of a distance from the stack to elsewhere; or its lower bytes.
    Minus(i64),
    /// Its lower bytes, so many, are those of such a number ([`Known::Stack`], or [`Known::Minus`] where `minus`).
    Lower { minus: bool, offset: i64, bytes: u8 },
}

/// The stack pointer at the entry is a multiple of 8.
const ALIGNED: u128 = 7;

impl Known {
    pub const NOTHING: Known = Known::Bits { number: 0, bits: 0 };

    /// A number of that size.
    pub fn number(number: u128, size: u8) -> Known {
        Known::some(number, u128::MAX, size)
    }

    fn some(number: u128, bits: u128, size: u8) -> Known {
        let bits = if size > 16 { 0 } else { bits & mask(size) };
        Known::Bits { number: number & bits, bits }
    }

    fn truth(holds: bool) -> Known {
        Known::number(holds.into(), 1)
    }

    /// The number, and which of its bits are known.
    pub fn bits(self) -> (u128, u128) {
        match self {
            Known::Bits { number, bits } => (number, bits),
            Known::Stack(offset) | Known::Minus(offset) | Known::Lower { offset, .. } => {
                (offset as u128 & ALIGNED, ALIGNED)
            }
        }
    }

    /// All of it, if it has that size.
    pub fn whole(self, size: u8) -> Option<u128> {
        match self {
            Known::Bits { number, bits } if size <= 16 && bits == mask(size) => Some(number),
            _ => None,
        }
    }

    /// Whether it is 0, of that size.
    pub fn is_zero(self, size: u8) -> Option<bool> {
        let (number, _) = self.bits();
        if number != 0 {
            return Some(false);
        }
        self.whole(size).map(|_| true)
    }

    pub fn unary(self, operation: Unary, from: u8, size: u8) -> Known {
        if from > 16 || size > 16 {
            return Known::NOTHING;
        }
        if let Some(number) = self.whole(from) {
            return unary(operation, number, from, size).map_or(Known::NOTHING, |number| Known::number(number, size));
        }
        if matches!(operation, Unary::ZeroExtend | Unary::SignExtend) && from < size {
            if let Some(known) = self.lower(from) {
                return known;
            }
        }
        let (number, bits) = self.bits();
        match operation {
            Unary::Not => Known::some(!number, bits, size),
            Unary::ZeroExtend => Known::some(number, bits | !mask(from), size),
            Unary::SignExtend if bits >> (8 * u32::from(from) - 1) & 1 == 1 => {
                Known::some(signed(number, from) as u128, bits | !mask(from), size)
            }
            Unary::SignExtend => Known::some(number, bits, size),
            Unary::Negate => Known::some(number.wrapping_neg(), trailing(bits), size),
            Unary::BoolNot if number != 0 => Known::number(0, size),
            Unary::BoolNot | Unary::CountOnes | Unary::LeadingZeros => Known::NOTHING,
        }
    }

    /// The result, of `size` bytes, of operands of `width` and `other_width`; an address has `pointer` bytes.
    pub fn binary(self, operation: Binary, other: Known, [width, other_width, size]: [u8; 3], pointer: u8) -> Known {
        if width > 16 || size > 16 {
            return Known::NOTHING;
        }
        let amount = other.whole(other_width);
        if let Some((a, b)) = self.whole(width).zip(amount) {
            return binary(operation, a, b, width).map_or(Known::NOTHING, |number| Known::number(number, size));
        }
        let lower = |known| if let Known::Lower { bytes, .. } = known { bytes } else { u8::MAX };
        let bytes = lower(self).min(lower(other));
        if bytes < width && matches!(operation, Binary::Add | Binary::Subtract) {
            let (a, b) = (self.extract(0, width, bytes), other.extract(0, width, bytes));
            let known = a.binary(operation, b, [bytes, bytes, bytes], pointer);
            return known.lower(bytes).unwrap_or(known);
        }
        if width <= pointer {
            if let Some(known) = on_stack(operation, self, other, width, width == pointer) {
                return known;
            }
        }
        let ((a, of_a), (b, of_b)) = (self.bits(), other.bits());
        let low = trailing(of_a & of_b);
        match operation {
            Binary::And => Known::some(a & b, of_a & of_b | of_a & !a | of_b & !b, size),
            Binary::Or => Known::some(a | b, of_a & of_b | a | b, size),
            Binary::Xor => Known::some(a ^ b, of_a & of_b, size),
            Binary::Add => Known::some(a.wrapping_add(b), low, size),
            Binary::Subtract => Known::some(a.wrapping_sub(b), low, size),
            Binary::Multiply => Known::some(a.wrapping_mul(b), low, size),
            Binary::Equal | Binary::NotEqual if (a ^ b) & of_a & of_b != 0 => {
                Known::truth(operation == Binary::NotEqual)
            }
            Binary::ShiftLeft | Binary::ShiftRight => match amount {
                Some(by) if by >= 8 * u128::from(width) => Known::number(0, size),
                Some(by) if operation == Binary::ShiftLeft => Known::some(a << by, of_a << by | ((1 << by) - 1), size),
                Some(by) => Known::some(a >> by, (of_a | !mask(width)) >> by | !(u128::MAX >> by), size),
                None => Known::NOTHING,
            },
            _ => Known::NOTHING,
        }
    }

    /// The result, of `size` bytes, of floating-point operands of `width`.
    pub fn float(self, operation: Float, other: Known, width: u8, size: u8) -> Known {
        let operands = self.whole(width).zip(other.whole(width));
        let result = operands.and_then(|(a, b)| float(operation, a, b, width, size));
        result.map_or(Known::NOTHING, |number| Known::number(number, size))
    }

    /// Of an address of the stack, or what is made of one: what is known if only these bytes of it stay.
    fn lower(self, bytes: u8) -> Option<Known> {
        match self {
            Known::Stack(offset) => Some(Known::Lower { minus: false, offset, bytes }),
            Known::Minus(offset) => Some(Known::Lower { minus: true, offset, bytes }),
            Known::Lower { minus, offset, bytes: known } => {
                Some(Known::Lower { minus, offset, bytes: bytes.min(known) })
            }
            Known::Bits { .. } => None,
        }
    }

    /// Its bytes from byte `at` on, as many as `size`, of `from`.
    pub fn extract(self, at: u8, from: u8, size: u8) -> Known {
        let (number, bits) = self.bits();
        match at {
            0 if from == size => self,
            0 if size < from => match self {
                Known::Bits { .. } => Known::some(number, bits, size),
                Known::Lower { minus: true, offset, bytes } if size <= bytes => Known::Minus(offset),
                Known::Lower { minus: false, offset, bytes } if size <= bytes => Known::Stack(offset),
                Known::Stack(_) | Known::Minus(_) | Known::Lower { .. } => self,
            },
            _ if at >= 16 => Known::NOTHING,
            _ => Known::some(number >> (8 * u32::from(at)), bits >> (8 * u32::from(at)), size),
        }
    }

    /// It, of `size` bytes, with those from byte `at` on replaced by `part`, of `part_size`.
    pub fn insert(self, part: Known, at: u8, part_size: u8, size: u8) -> Known {
        if at == 0 && part_size == size {
            return part;
        }
        if size > 16 || at >= 16 {
            return Known::NOTHING;
        }
        let ((number, bits), (part, part_bits)) = (self.bits(), part.bits());
        let (at, hole) = (8 * u32::from(at), mask(part_size) << (8 * u32::from(at)));
        Known::some(number & !hole | part << at, bits & !hole | part_bits << at, size)
    }

    /// What is known of it where it may be the other.
    pub fn or(self, other: Known) -> Known {
        let ((a, of_a), (b, of_b)) = (self.bits(), other.bits());
        match self == other {
            true => self,
            false => Known::some(a, of_a & of_b & !(a ^ b), 16),
        }
    }
}

/// Bits that are known from the lowest on.
fn trailing(bits: u128) -> u128 {
    match bits.trailing_ones() {
        128 => u128::MAX,
        count => (1 << count) - 1,
    }
}

/// Sums and differences of addresses of the stack or of their lower bytes, one with itself, and comparisons of two: of whole ones
/// also which is less, since the stack does not wrap around.
fn on_stack(operation: Binary, a: Known, b: Known, width: u8, whole: bool) -> Option<Known> {
    use Known::{Minus, Stack};
    let by = |known: Known| Some(signed(known.whole(width)?, width) as i64);
    let number = |number: i64| Some(Known::number(number as u128, width));
    let same = |a: i64, b: i64| a.wrapping_sub(b) as u128 & mask(width) == 0;
    match (operation, a, b) {
        (Binary::Add, Stack(a), Minus(b)) | (Binary::Add, Minus(b), Stack(a)) => number(a.wrapping_add(b)),
        (Binary::Add, Minus(offset), other) | (Binary::Add, other, Minus(offset)) => {
            by(other).and_then(|by| offset.checked_add(by)).map(Minus)
        }
        (Binary::Subtract, Minus(a), Minus(b)) | (Binary::Subtract, Stack(a), Stack(b)) => number(a.wrapping_sub(b)),
        (Binary::Subtract, Minus(offset), other) => by(other).and_then(|by| offset.checked_sub(by)).map(Minus),
        (Binary::Add, Stack(offset), other) | (Binary::Add, other, Stack(offset)) => {
            by(other).and_then(|by| offset.checked_add(by)).map(Stack)
        }
        (Binary::Subtract, Stack(offset), other) => by(other).and_then(|by| offset.checked_sub(by)).map(Stack),
        (Binary::Subtract, other, Stack(offset)) => by(other).and_then(|by| by.checked_sub(offset)).map(Minus),
        // The index of an address comes times its scale.
        (Binary::Multiply, known @ (Stack(_) | Minus(_)), other) if by(other) == Some(1) => Some(known),
        (Binary::And | Binary::Or, Stack(a), Stack(b)) if a == b => Some(Stack(a)),
        (Binary::Equal, Stack(a), Stack(b)) => Some(Known::truth(same(a, b))),
        (Binary::NotEqual, Stack(a), Stack(b)) => Some(Known::truth(!same(a, b))),
        (Binary::Less, Stack(a), Stack(b)) if whole => Some(Known::truth(a < b)),
        (Binary::LessEqual, Stack(a), Stack(b)) if whole => Some(Known::truth(a <= b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of which some bits are known.
    const PARTIAL: [(u128, u128); 9] = [
        (0, 0),
        (0b101, 0b111),
        (0b1010_0000, 0b1111_0000),
        (0, 0xff),
        (0xff, 0xff),
        (7, 0xff),
        (0b10, 0b11),
        (0x80, 0x81),
        (0b0110_0110, 0b0111_1110),
    ];

    /// All bytes that these bits allow.
    fn all((number, bits): (u128, u128)) -> impl Iterator<Item = u128> {
        (0..256).filter(move |byte| byte & bits == number)
    }

    fn known((number, bits): (u128, u128)) -> Known {
        Known::Bits { number, bits }
    }

    #[track_caller]
    fn covers(known: Known, number: u128) {
        let (known, bits) = known.bits();
        assert_eq!(number & bits, known, "{bits:#x}");
    }

    #[test]
    fn what_is_known_of_a_result_is_so_for_all_operands() {
        for a in PARTIAL {
            for operation in Unary::ALL {
                for size in [1, 2] {
                    let result = known(a).unary(*operation, 1, size);
                    all(a).for_each(|x| covers(result, unary(*operation, x, 1, size).unwrap()));
                }
            }
            for (b, operation) in PARTIAL.iter().flat_map(|b| Binary::ALL.iter().map(move |operation| (*b, *operation)))
            {
                let result = known(a).binary(operation, known(b), [1, 1, 1], 4);
                for (x, y) in all(a).flat_map(|x| all(b).map(move |y| (x, y))) {
                    if let Some(number) = binary(operation, x, y, 1) {
                        covers(result, number);
                    }
                }
                let whole = a.1 == 0xff && b.1 == 0xff && binary(operation, a.0, b.0, 1).is_some();
                assert!(!whole || result.whole(1).is_some(), "{operation:?}");
            }
            for b in PARTIAL {
                let (both, part) = (known(a).insert(known(b), 1, 1, 2), known(a).or(known(b)));
                for (x, y) in all(a).flat_map(|x| all(b).map(move |y| (x, y))) {
                    covers(both, x | y << 8);
                    covers(both.extract(1, 2, 1), y);
                    covers(part, x);
                    covers(part, y);
                }
            }
        }
    }

    #[test]
    fn addresses_of_the_stack_are_known_relative_to_each_other() {
        let (below, above) = (Known::Stack(-24), Known::Stack(16));
        let on = |operation, a: Known, b| a.binary(operation, b, [8, 8, 8], 8);
        assert_eq!(on(Binary::Subtract, above, below), Known::number(40, 8));
        assert_eq!(on(Binary::Add, below, Known::number(-8i64 as u128, 8)), Known::Stack(-32));
        assert_eq!(on(Binary::Less, below, above), Known::number(1, 1));
        assert_eq!(on(Binary::And, Known::Stack(-21), Known::number(7, 8)), Known::number(3, 8));
        // A copy from the stack walks along one pointer, and adds how far the other is from it.
        let apart = on(Binary::Subtract, Known::number(0x4000, 8), below);
        let index = on(Binary::Multiply, Known::Stack(-16), Known::number(1, 8));
        assert_eq!(on(Binary::Add, apart, index), Known::number(0x4008, 8));
        assert_eq!(on(Binary::Subtract, apart, apart), Known::number(0, 8));
        assert_eq!(on(Binary::And, apart, Known::number(7, 8)), Known::number(0, 8));
        assert_eq!(apart.whole(8), None);
        // Where the stack is, is not known.
        assert_eq!(on(Binary::Less, below, Known::number(1 << 20, 8)), Known::NOTHING);
        assert_eq!(on(Binary::And, below, Known::number(15, 8)).whole(8), None);
        assert_eq!(below.is_zero(8), None);
        assert_eq!(below.extract(0, 8, 4).whole(4), None);
        // Of lower halves the difference is known, and whether they are equal, not which is less.
        let half = |known: Known| known.extract(0, 8, 4);
        let narrow = |operation, a: Known, b, size| a.binary(operation, b, [4, 4, size], 8);
        assert_eq!(narrow(Binary::Subtract, half(below), half(above), 4), Known::number(-40i64 as u128, 4));
        assert_eq!(narrow(Binary::Less, half(below), half(above), 1), Known::NOTHING);
        assert_eq!(narrow(Binary::Equal, half(Known::Stack(1 << 32)), half(Known::Stack(0)), 1), Known::number(1, 1));
        assert_eq!(narrow(Binary::Add, half(above), Known::number(8, 4), 4), Known::Stack(24));
        let wide = half(above).unary(Unary::ZeroExtend, 4, 8);
        assert_eq!((wide.whole(8), wide.bits()), (None, (0, 7)));
        // How far a pointer has come from another, kept in 32 bits that are extended, and added to the pointer's lower half.
        let distance = narrow(Binary::Subtract, Known::number(5, 4), half(below), 4).unary(Unary::SignExtend, 4, 8);
        assert_eq!(distance, Known::Lower { minus: true, offset: 29, bytes: 4 });
        assert_eq!(narrow(Binary::Add, half(distance), half(above), 4), Known::number(45, 4));
        let sum = on(Binary::Add, distance, above);
        assert_eq!((sum.whole(8), sum.extract(0, 8, 4)), (None, Known::number(45, 4)));
        assert_eq!(on(Binary::Add, distance, Known::number(1, 8)).extract(0, 8, 4), Known::Minus(30));
        assert_eq!(on(Binary::Equal, distance, distance).whole(1), None);
    }
}
