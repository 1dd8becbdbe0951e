//! A disc image with GRUB that boots kernel and system image on BIOS and UEFI machines.

use crate::deb::run;
use crate::Error;
use std::path::Path;

const MENU: &str = include_str!("../grub/grub.cfg");

/// Writes the disc image at `iso`, using `folder` for its contents.
pub fn write_iso(kernel: &Path, image: &Path, folder: &Path, iso: &Path) -> Result<(), Error> {
    let boot = folder.join("boot");
    let unwritable = |path: &Path| {
        let path = path.to_path_buf();
        move |error| Error::Write { path, error }
    };
    std::fs::create_dir_all(boot.join("grub")).map_err(unwritable(&boot))?;
    let kernel_copy = boot.join("ashlar.elf");
    std::fs::copy(kernel, &kernel_copy).map_err(unwritable(&kernel_copy))?;
    let image_copy = boot.join("system.img");
    std::fs::copy(image, &image_copy).map_err(unwritable(&image_copy))?;
    let menu = boot.join("grub/grub.cfg");
    std::fs::write(&menu, MENU).map_err(unwritable(&menu))?;
    let (iso_text, folder_text) = (iso.display().to_string(), folder.display().to_string());
    // Both platforms' modules must be installed, or the image would silently boot on one only.
    for platform in ["/usr/lib/grub/i386-pc", "/usr/lib/grub/x86_64-efi"] {
        if !Path::new(platform).is_dir() {
            let error = std::io::Error::new(std::io::ErrorKind::NotFound, "GRUB's modules for it are not installed");
            return Err(Error::Read { path: platform.into(), error });
        }
    }
    run("grub-mkrescue", &["-o", &iso_text, &folder_text], None)?;
    Ok(())
}
