//! The page in a browser, which reads it without complaint and shows what it is about. Without Chromium the test says so and
//! passes.

use std::process::Command;

/// The page as the browser took it.
fn rendered(page: &str) -> Option<String> {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("report.html");
    std::fs::write(&file, page).unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("file://{}", file.display()))
        .output();
    let output = match output {
        Ok(output) => output,
        Err(cause) => {
            println!("not run: chromium: {cause}");
            let _ = std::fs::remove_dir_all(&folder);
            return None;
        }
    };
    let _ = std::fs::remove_dir_all(&folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_page_is_shown() {
    let (bounded, refused) = (crate::sample::bounded(), crate::sample::refused());
    let Some(page) = rendered(&wcet_report::html(&bounded)) else { return };
    let shown = page.replace([',', '\u{202f}', '\u{a0}', ' '], "");
    assert!(shown.contains(&bounded.wcet_cycles.unwrap().to_string()), "the bound is not shown");
    for one in &bounded.loops {
        assert!(page.contains(&one.function), "{} is not shown", one.function);
    }
    let page = rendered(&wcet_report::html(&refused)).unwrap();
    for error in &refused.errors {
        assert!(page.contains(&error.code), "{} is not shown", error.code);
    }
}
