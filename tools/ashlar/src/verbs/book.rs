//! `book`: the book's generated pictures, its names and links held against the tree, and its pages as HTML.

use crate::cli::BookOptions;
use crate::results::BookResult;
use builder::{assets, KernelOptions};
use output::{without_bar, Failure, Output};
use project::Project;
use std::path::Path;
use std::process::Command;

/// The last mdBook that builds with the oldest Rust that Ashlar takes.
const MDBOOK: &str = "0.4.52";

pub fn book(options: &BookOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let root = project.root();
    let failed = |error: book::Error| Failure::unable(error.to_string(), "`ashlar doctor` says what is missing");
    let mut findings = Vec::new();
    let own = assets(project, &KernelOptions::default())?;
    for file in book::pictures(root, &own, &gallery(project)?).map_err(failed)? {
        let path = root.join(&file.path);
        if std::fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
            continue;
        }
        if options.check {
            findings.push(format!("{}: not what the tree gives; run `ashlar book`", file.path.display()));
            continue;
        }
        write(&path, &file.text)?;
    }
    findings.extend(book::check(root).map_err(failed)?.iter().map(shown));
    findings.iter().for_each(|finding| output.human(finding));
    let page = if options.check { None } else { Some(html(project, output)?) };
    let result = BookResult { findings, page };
    output.json(&result);
    match result.findings.len() {
        0 => Ok(()),
        1 => Err(Failure::Finding("1 finding".to_string())),
        count => Err(Failure::Finding(format!("{count} findings"))),
    }
}

/// The projects in `gallery`, each with what its own `ashlar.toml` adds.
fn gallery(project: &Project) -> Result<Vec<book::Exhibit>, Failure> {
    let folder = project.root().join("gallery");
    let exhibit = |name: String| {
        let own = project.around(&folder.join(&name))?;
        Ok(book::Exhibit { name, assets: assets(&own, &KernelOptions::default())? })
    };
    project::folders(&folder).into_iter().map(exhibit).collect()
}

fn shown(finding: &book::Finding) -> String {
    format!("{}:{}: {}", finding.file.display(), finding.line, finding.message)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text)).map_err(|error| {
        Failure::unable(
            format!("{} cannot be written: {error}", path.display()),
            "check the folder and its permissions",
        )
    })
}

/// Builds the pages with mdBook, which cargo builds first if it is not there. Returns the first page.
pub(super) fn html(project: &Project, output: &Output) -> Result<String, Failure> {
    let root = project.root();
    let tools = root.join("build/mdbook");
    let program = tools.join("bin/mdbook");
    let progress = output.progress(2);
    progress.step("mdBook, built once in about three minutes");
    if !program.exists() {
        let cargo = std::env::var("ASHLAR_CARGO").unwrap_or_else(|_| "cargo".to_string());
        let mut command = Command::new(cargo);
        command
            .args(["install", "mdbook", "--locked", "--quiet", "--no-default-features", "--version", MDBOOK, "--root"])
            .arg(&tools);
        succeed(&mut command, "mdBook could not be built")?;
    }
    progress.step("pages");
    succeed(Command::new(&program).arg("build").arg(root.join("docs")), "mdBook could not build the pages")?;
    let page = root.join("build/book/index.html");
    output.human(&format!("the book    {}", project.shown(&page)));
    Ok(page.display().to_string())
}

fn succeed(command: &mut Command, what: &str) -> Result<(), Failure> {
    match without_bar(|| command.status()) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::unable(format!("{what}: {status}"), "its messages stand above")),
        Err(error) => Err(Failure::unable(format!("{what}: {error}"), "`ashlar doctor` says what is missing")),
    }
}
