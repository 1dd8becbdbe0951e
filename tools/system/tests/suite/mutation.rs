//! Whatever a description or an image holds, nothing panics and no damage of an image passes.

use crate::common;
use crate::common::fake::{self, Folder};
use std::path::Path;

/// A small generator (xorshift), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    const SNIPPETS: &[&[u8]] =
        &[b"[", b"]", b"\"", b"=", b"{", b"}", b"'''", b"\n[vm.x]\n", b"\xff", b"0x", b"\\", b"-9"];
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(4) {
            0 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            1 if at < bytes.len() => {
                let end = (at + 1 + random.below(20)).min(bytes.len());
                bytes.drain(at..end);
            }
            2 => {
                let snippet = SNIPPETS[random.below(SNIPPETS.len())];
                bytes.splice(at..at, snippet.iter().copied());
            }
            _ => {
                let from = random.below(bytes.len() + 1);
                let copy: Vec<u8> = bytes[from..(from + 40).min(bytes.len())].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
}

#[test]
fn mutated_descriptions_never_panic() {
    let folder = Folder::new("mutated");
    let mut kernel = common::start_up::StartUp::new("mutated");
    let assets = common::assets(&folder.0);
    fake::build_all(&assets);
    let mut random = Random(0x5eed);
    let paths = common::systems();
    let (mut clean, mut faulty) = (0, 0);
    for round in 0..800 {
        let whole = std::fs::read(&paths[round % paths.len()]).expect("the description is there");
        let mut bytes = whole;
        mutate(&mut bytes, &mut random);
        let path = folder.0.join("mutated.toml");
        fake::write(&path, &bytes);
        match system::load(&path, &assets) {
            Ok(system) => {
                clean += 1;
                if let Ok(resolution) = system::resolve(&system, &assets) {
                    assert_eq!(kernel.refusal(&resolution.image()), None, "round {round}");
                }
            }
            Err(report) => {
                faulty += 1;
                assert!(!report.is_clean(), "round {round}");
                assert!(
                    !report.render(diagnostics::Style { color: true, width: 60 }).is_empty()
                        && report.to_json()["diagnostics"].is_array()
                );
            }
        }
    }
    // Mutations of comments and names stay valid, most others do not: both sides must have been exercised.
    assert!(clean > 5 && faulty > 300, "{clean} without fault, {faulty} with");
}

#[test]
fn mutated_programs_and_guest_files_never_panic() {
    let folder = Folder::new("mutated-files");
    let mut kernel = common::start_up::StartUp::new("mutated-files");
    let assets = common::assets(&folder.0);
    let path = common::root().join("systems/three-linux.toml");
    let mut random = Random(0xf11e);
    for _ in 0..100 {
        fake::build_all(&assets);
        let files: Vec<&Path> = assets.programs.values().chain(assets.files.values()).map(|p| p.as_path()).collect();
        for file in files {
            let mut bytes = std::fs::read(file).expect("it was built");
            mutate(&mut bytes, &mut random);
            fake::write(file, &bytes);
        }
        if let Ok(system) = system::load(&path, &assets) {
            if let Ok(resolution) = system::resolve(&system, &assets) {
                assert_eq!(kernel.refusal(&resolution.image()), None);
            }
        }
    }
}

#[test]
fn every_damage_of_an_image_is_found() {
    let folder = Folder::new("damaged");
    let mut kernel = common::start_up::StartUp::new("damaged");
    let assets = common::assets(&folder.0);
    fake::build_all(&assets);
    let system = system::load(&common::root().join("systems/three-linux.toml"), &assets).expect("it is without fault");
    let image = system::resolve(&system, &assets).expect("everything is built").image();
    let payload = u64::from_le_bytes(image[32..40].try_into().expect("eight bytes")) as usize;
    let table = u32::from_le_bytes(image[12..16].try_into().expect("four bytes")) as usize;
    let mut random = Random(0xda3a6e);
    for round in 0..2000 {
        // The bytes between table and payload mean nothing.
        let at = match random.below(2) {
            0 => random.below(table),
            _ => payload + random.below(image.len() - payload),
        };
        let mut damaged = image.clone();
        damaged[at] ^= 1 << random.below(8);
        assert!(kernel.refusal(&damaged).is_some(), "round {round}: byte {at}");
    }
    for length in [0, 10, 100, table - 1, payload, image.len() - 1] {
        assert!(kernel.refusal(&image[..length]).is_some(), "{length} bytes");
    }
    for _ in 0..200 {
        let noise: Vec<u8> = (0..8192).map(|_| random.below(256) as u8).collect();
        assert!(kernel.refusal(&noise).is_some());
    }
}
