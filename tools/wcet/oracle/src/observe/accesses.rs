//! Which of an instruction's accesses a traced one is.

use wcet_binary::lift::il;

use crate::observe::record::Access;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// By its number.
    One(usize),
    /// One of several in the same direction.
    Several,
    /// The instruction is not known to make such an access.
    None,
}

/// Whether an access reads or writes as a traced one does.
pub fn same_direction(one: &il::Access, traced: &Access) -> bool {
    if traced.write {
        one.write
    } else {
        one.read
    }
}

pub fn which(accesses: &[il::Access], traced: &Access) -> Which {
    let fits = |exactly: bool| {
        let same = accesses
            .iter()
            .enumerate()
            .filter(move |(_, one)| same_direction(one, traced) && (!exactly || u64::from(one.size) == traced.size));
        let mut same = same.map(|(number, _)| number);
        match (same.next(), same.next()) {
            (Some(number), None) => Which::One(number),
            (Some(_), Some(_)) => Which::Several,
            (None, _) => Which::None,
        }
    };
    match fits(false) {
        // Of accesses of different sizes it is the one of its own.
        Which::Several => match fits(true) {
            Which::One(number) => Which::One(number),
            _ => Which::Several,
        },
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use wcet_binary::lift::il::AddressForm;

    use super::*;

    #[test]
    fn accesses_are_told_apart_by_direction_and_size() {
        let one = |size, read, write| il::Access { address: AddressForm::Any, size, read, write, conditional: false };
        let traced = |size, write| Access { size, write, ..Access::default() };
        // push [m], and an exchange of two places of different sizes.
        let push = [one(8, true, false), one(8, false, true)];
        assert_eq!(which(&push, &traced(8, false)), Which::One(0));
        assert_eq!(which(&push, &traced(8, true)), Which::One(1));
        assert_eq!(which(&[one(4, true, false), one(8, true, false)], &traced(8, false)), Which::One(1));
        assert_eq!(which(&[push[0], push[0]], &traced(8, false)), Which::Several);
        // Parts of a larger access are that access; a store is not among the loads.
        assert_eq!(which(&[one(832, true, false)], &traced(8, false)), Which::One(0));
        assert_eq!(which(&[one(8, true, false)], &traced(8, true)), Which::None);
    }
}
