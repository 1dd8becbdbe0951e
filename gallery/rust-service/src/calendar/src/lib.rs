//! Dates, without anything of the system: what can be tested on a PC.
#![cfg_attr(not(test), no_std)]

/// What the service is asked; the clients' header requests.h has the same numbers.
pub const PING: u64 = 0;
pub const NOW: u64 = 1;

/// What the clock chip's registers say, if they make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChipTime {
    pub second: u64,
    pub minute: u64,
    pub hour: u64,
    pub day: u64,
    pub month: u64,
    pub year: u64,
}

const DAYS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

impl ChipTime {
    /// From the registers in the driver's order. The chip counts years of a century, which is taken to be this one.
    pub fn new(registers: &[u64]) -> Option<ChipTime> {
        let [second, minute, hour, day, month, year] = *registers else { return None };
        let time = ChipTime { second, minute, hour, day, month, year: 2000 + year };
        let is_valid = second < 60
            && minute < 60
            && hour < 24
            && year < 100
            && (1..=12).contains(&month)
            && (1..=days_in(time.year, month)).contains(&day);
        is_valid.then_some(time)
    }

    /// 0 is Sunday. 1 March 2000 was a Wednesday; counted from a March, the leap day is a year's last.
    pub fn weekday(&self) -> u64 {
        let (year, month) = if self.month < 3 { (self.year - 1, self.month + 9) } else { (self.year, self.month - 3) };
        let leap_days = year / 4 - year / 100 + year / 400;
        let days_before = (153 * month + 2) / 5;
        (3 + year + leap_days + days_before + self.day - 1) % 7
    }

    pub fn second_of_day(&self) -> u64 {
        (self.hour * 60 + self.minute) * 60 + self.second
    }
}

fn days_in(year: u64, month: u64) -> u64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    DAYS[month as usize - 1] + u64::from(is_leap && month == 2)
}

#[cfg(test)]
mod tests {
    use super::ChipTime;

    fn day(year: u64, month: u64, day: u64) -> Option<ChipTime> {
        ChipTime::new(&[0, 0, 0, day, month, year])
    }

    #[test]
    fn weekdays() {
        let cases = [((0, 1, 1), 6), ((0, 2, 29), 2), ((24, 2, 29), 4), ((24, 3, 1), 5), ((26, 12, 31), 4), ((99, 7, 4), 6)];
        for ((year, month, number), weekday) in cases {
            assert_eq!(day(year, month, number).expect("it is a day").weekday(), weekday, "{year} {month} {number}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        assert!(day(23, 2, 29).is_none() && day(24, 2, 30).is_none() && day(24, 0, 1).is_none() && day(24, 13, 1).is_none());
        assert!(day(24, 4, 31).is_none() && day(24, 4, 0).is_none() && day(100, 1, 1).is_none());
        assert!(ChipTime::new(&[60, 0, 0, 1, 1, 0]).is_none() && ChipTime::new(&[0, 60, 0, 1, 1, 0]).is_none());
        assert!(ChipTime::new(&[0, 0, 24, 1, 1, 0]).is_none() && ChipTime::new(&[0; 5]).is_none());
        assert_eq!(ChipTime::new(&[59, 59, 23, 1, 1, 0]).map(|time| time.second_of_day()), Some(86_399));
    }
}
