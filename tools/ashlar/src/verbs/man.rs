//! `man`: manual pages, one for each command.

use crate::cli::{Arguments, ManOptions};
use crate::results::ManResult;
use clap::CommandFactory;
use output::{Failure, Output};

pub fn man(options: &ManOptions, output: &Output) -> Result<(), Failure> {
    let folder = &options.directory;
    let pages =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Arguments::command(), folder)).map_err(
            |error| Failure::unable(format!("{} cannot be written: {error}", folder.display()), "name another folder"),
        );
    pages?;
    output.human(&format!("manual pages in {0}; read one with: man {0}/ashlar.1", folder.display()));
    output.json(&ManResult { directory: folder.clone() });
    Ok(())
}
