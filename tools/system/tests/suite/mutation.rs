//! Whatever a description or an image holds, nothing panics and no damage of an image passes.

use crate::common;
use crate::common::fake;
use std::path::Path;
use testing::{damage, Folder, Random};

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    const SNIPPETS: &[&[u8]] =
        &[b"[", b"]", b"\"", b"=", b"{", b"}", b"'''", b"\n[vm.x]\n", b"\xff", b"0x", b"\\", b"-9"];
    let snippets: Vec<Vec<u8>> = SNIPPETS.iter().map(|snippet| snippet.to_vec()).collect();
    damage(random, bytes, &snippets);
    if random.one_in(2) && !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes[at] = random.byte();
    }
}

#[test]
fn mutated_descriptions_never_panic() {
    let folder = Folder::new("mutated");
    let mut kernel = common::start_up::StartUp::new("mutated");
    let assets = common::assets(&folder);
    fake::build_all(&assets);
    let mut random = Random(0x5eed);
    let paths = common::systems();
    let (mut clean, mut faulty) = (0, 0);
    for round in 0..800 {
        let whole = std::fs::read(&paths[round % paths.len()]).expect("the description is there");
        let mut bytes = whole;
        mutate(&mut bytes, &mut random);
        let path = folder.join("mutated.toml");
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
    let assets = common::assets(&folder);
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
    let assets = common::assets(&folder);
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
