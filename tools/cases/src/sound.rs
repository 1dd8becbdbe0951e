//! Looking for a tone in a WAV file.
//!
//! Reads PCM samples of 16 bits and computes how much of a piece of sound is one frequency (Goertzel's algorithm). The
//! length in the file may be 0: an emulator that still runs, or was killed, has not written it.

use std::f64::consts::TAU;

/// Length of the pieces that are looked at. Two tones that differ by 10 Hz or more are told apart.
const PIECE_SECONDS: f64 = 0.1;
/// The part of a piece's energy that must be the tone's.
const PURITY: f64 = 0.95;
/// Mean amplitude below which a piece is silent; the greatest sample is 32,767.
const QUIET: f64 = 100.0;

/// A sound: samples of each channel.
#[derive(Debug)]
pub struct Sound {
    pub rate: u32,
    pub channels: Vec<Vec<f64>>,
}

impl Sound {
    /// Reads a WAV file.
    pub fn parse(file: &[u8]) -> Result<Sound, String> {
        if file.get(..4) != Some(b"RIFF") || file.get(8..12) != Some(b"WAVE") {
            return Err("it is no WAV file".into());
        }
        let mut rest = &file[12..];
        let mut format = None;
        while let Some((header, after)) = rest.split_at_checked(8) {
            let length = u32_at(header, 4) as usize;
            if &header[..4] == b"data" {
                let (rate, count) = format.ok_or("its samples come before their format")?;
                let known = if length == 0 { after.len() } else { length.min(after.len()) };
                return Ok(Sound { rate, channels: split(&after[..known], count) });
            }
            let Some((chunk, next)) = after.split_at_checked(length) else { break };
            if &header[..4] == b"fmt " && length >= 16 {
                let count = usize::from(u16_at(chunk, 2));
                if u16_at(chunk, 0) != 1 || u16_at(chunk, 14) != 16 || count == 0 {
                    return Err("its samples are not PCM of 16 bits".into());
                }
                format = Some((u32_at(chunk, 4), count));
            }
            rest = next;
        }
        Err("it has no samples".into())
    }

    pub fn seconds(&self) -> f64 {
        self.channels[0].len() as f64 / f64::from(self.rate)
    }

    /// Seconds in which every channel holds a tone of `hertz` and hardly anything else.
    pub fn seconds_of(&self, hertz: f64) -> f64 {
        let length = (f64::from(self.rate) * PIECE_SECONDS) as usize;
        let pieces = self.channels[0].len() / length;
        let cycles = hertz / f64::from(self.rate);
        let is_tone = |piece: &usize| {
            self.channels.iter().all(|channel| {
                let samples = &channel[piece * length..(piece + 1) * length];
                purity(samples, cycles) >= PURITY
            })
        };
        (0..pieces).filter(is_tone).count() as f64 * PIECE_SECONDS
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn split(bytes: &[u8], channels: usize) -> Vec<Vec<f64>> {
    let frames = bytes.chunks_exact(2 * channels);
    let sample = |frame: &[u8], channel: usize| f64::from(u16_at(frame, 2 * channel) as i16);
    (0..channels).map(|channel| frames.clone().map(|frame| sample(frame, channel)).collect()).collect()
}

/// The part of the energy of `samples` at `cycles` per sample: 1 for a sine wave, 0 for silence.
fn purity(samples: &[f64], cycles: f64) -> f64 {
    let energy: f64 = samples.iter().map(|sample| sample * sample).sum();
    let count = samples.len() as f64;
    if energy < count * QUIET * QUIET {
        return 0.0;
    }
    let coefficient = 2.0 * (TAU * cycles).cos();
    let (last, before) =
        samples.iter().fold((0.0, 0.0), |(last, before), sample| (sample + coefficient * last - before, last));
    let power = last * last + before * before - coefficient * last * before;
    2.0 * power / (count * energy)
}

#[cfg(test)]
mod tests {
    use super::Sound;
    use std::f64::consts::TAU;

    const RATE: u32 = 48_000;

    /// A stereo file of `left` and `right`; `length` stands in its header.
    fn file(left: &[i16], right: &[i16], length: u32) -> Vec<u8> {
        let mut file = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0".to_vec();
        file.extend(RATE.to_le_bytes());
        file.extend((4 * RATE).to_le_bytes());
        file.extend([4, 0, 16, 0]);
        file.extend(b"data");
        file.extend(length.to_le_bytes());
        left.iter()
            .zip(right)
            .for_each(|(left, right)| file.extend([left.to_le_bytes(), right.to_le_bytes()].concat()));
        file
    }

    fn sine(hertz: f64, seconds: f64) -> Vec<i16> {
        let sample = |index: usize| 8000.0 * (TAU * hertz * index as f64 / f64::from(RATE)).sin();
        (0..(seconds * f64::from(RATE)) as usize).map(|index| sample(index) as i16).collect()
    }

    fn seconds_of(left: &[i16], right: &[i16], hertz: f64) -> f64 {
        Sound::parse(&file(left, right, 0)).unwrap().seconds_of(hertz)
    }

    #[test]
    fn a_tone_is_found_by_its_frequency() {
        let tone = sine(440.0, 1.0);
        assert!((seconds_of(&tone, &tone, 440.0) - 1.0).abs() < 1e-9);
        for other in [430.0, 450.0, 220.0, 880.0, 441.0 * 48.0 / 44.1] {
            assert_eq!(seconds_of(&tone, &tone, other), 0.0, "{other} Hz");
        }
    }

    #[test]
    fn silence_noise_and_one_channel_are_no_tone() {
        let tone = sine(440.0, 1.0);
        let silence = vec![0; tone.len()];
        let mut seed = 1u32;
        let noise = tone.iter().map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as i16
        });
        let noise: Vec<i16> = noise.collect();
        assert_eq!(seconds_of(&silence, &silence, 440.0), 0.0);
        assert_eq!(seconds_of(&noise, &noise, 440.0), 0.0);
        assert_eq!(seconds_of(&tone, &silence, 440.0), 0.0);
    }

    #[test]
    fn the_length_counts_if_it_is_there() {
        let tone = sine(440.0, 1.0);
        let half = Sound::parse(&file(&tone, &tone, 2 * RATE)).unwrap();
        assert_eq!(half.seconds(), 0.5);
        assert!(Sound::parse(b"RIFF....WAVEdata").is_err());
        assert!(Sound::parse(b"none").is_err());
    }
}
