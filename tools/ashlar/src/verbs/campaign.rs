//! `campaign`: runs a long campaign in shards on an engine, or one of its shards.

use crate::cli::{CampaignOptions, EngineName};
use crate::results::{CampaignResult, Listed};
use crate::verbs::prove::{self, ProofCampaign};
use crate::verbs::report;
use builder::on_demand::{COMPARISON, FOREIGN, SUITES};
use builder::Builds;
use campaign::{item_seed, record_path, Engine, Plan, Record, Shard};
use cases::{self, Case, Outcome};
use output::{Failure, Output};
use project::Project;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

struct Campaign {
    name: &'static str,
    about: &'static str,
    /// How many items there are unless the user says.
    items: usize,
    work: Work,
}

enum Work {
    /// Each item boots a case of `tests/cases` with a seed of its own as the argument of this table of the description.
    Boot { case: &'static str, table: [&'static str; 2] },
    /// A campaign of the proofs.
    Proofs(ProofCampaign),
    /// The seeded faults of the drivers, or their correct variations: a committed list, in an order that the seed gives.
    Seeded(&'static str),
    /// So many random pairs of protocols and driver, of which the checker and all runs must say the same.
    Differential,
    /// The programs of the timing analysis's set for each of their targets, in an order that the seed gives.
    Timing,
    /// The programs of that set on a core's Verilog, which is fetched and compiled.
    CoreTiming,
    /// The vectors of a kernel of others, which is fetched and compiled.
    ForeignTiming,
    /// The handlers of an RTOS of others, which is fetched and compiled.
    RtosTiming,
    /// Programs of suites of others, which are fetched and compiled, for each target.
    SuitesTiming,
    /// Programs made to mislead the timing analysis, so many for each instruction set.
    AdversarialTiming,
}

const CAMPAIGNS: &[Campaign] = &[
    Campaign {
        name: "random-calls",
        about: "system calls from four threads, 200,000 a boot, and kills leave every table of the kernel sound",
        items: 16,
        work: Work::Boot { case: "random-calls", table: ["process", "parent"] },
    },
    Campaign {
        name: "kills",
        about: "guests and processes that are ended at 100 random moments a boot return everything",
        items: 16,
        work: Work::Boot { case: "kills", table: ["process", "supervisor"] },
    },
    Campaign {
        name: "switch-kills",
        about: "100 MiB echoed for each of three clients of a switch, which end 50 times a boot, or the switch, and 25 times the driver",
        items: 1,
        work: Work::Boot { case: "long/switch", table: ["process", "killer"] },
    },
    Campaign {
        name: "disk-kills",
        about: "256 MiB for each of three clients of a disk, of which two, service and driver end 50 times a boot: what was flushed stays",
        items: 4,
        work: Work::Boot { case: "long/block", table: ["process", "killer"] },
    },
    Campaign {
        name: "debian-disk",
        about: "an installed Debian boots from a guest's disk, and keeps a package that is installed there over two kinds of reset",
        items: 1,
        work: Work::Boot { case: "long/debian", table: ["vm", "guest"] },
    },
    Campaign {
        name: "vcpu-fuzz",
        about: "random processor states, instructions and debug registers in a guest end in exits",
        items: 32,
        work: Work::Boot { case: "vcpu-fuzz", table: ["vm", "fuzz"] },
    },
    Campaign {
        name: "random-opcodes",
        about: "odd instructions at ring 3, 100,000 sequences a boot, end in faults, and the kernel goes on",
        items: 16,
        work: Work::Boot { case: "random-opcodes", table: ["process", "parent"] },
    },
    Campaign {
        name: "mutants",
        about: "mutants of the certified C, spread over the layers, each break a proof",
        items: 200,
        work: Work::Proofs(ProofCampaign::Code),
    },
    Campaign {
        name: "spec-mutants",
        about: "mutants of the specifications, spread over their files, each break a proof",
        items: 100,
        work: Work::Proofs(ProofCampaign::Specifications),
    },
    Campaign {
        name: "assumption-mutants",
        about: "mutants of the assumptions about scheduler, hardware and locks each break a proof",
        items: 1000,
        work: Work::Proofs(ProofCampaign::Assumptions),
    },
    Campaign {
        name: "definition-mutants",
        about: "mutants of the definitions below the main theorems break a proof, or have a reason",
        items: 1000,
        work: Work::Proofs(ProofCampaign::Definitions),
    },
    Campaign {
        name: "operations",
        about: "each extracted specification agrees with the C on so many random operations",
        items: 100_000,
        work: Work::Proofs(ProofCampaign::Operations),
    },
    Campaign {
        name: "faults",
        about: "every seeded fault of the drivers is found, with the rule that it breaks",
        items: 0,
        work: Work::Seeded("faults"),
    },
    Campaign {
        name: "variations",
        about: "every correct variation of the drivers, refactorings most of them, stays proved by all rules",
        items: 0,
        work: Work::Seeded("variations"),
    },
    Campaign {
        name: "drivers-differential",
        about: "what the checker says of so many random drivers is what all their runs show",
        items: 10_000,
        work: Work::Differential,
    },
    Campaign {
        name: "timing",
        about: "every program of the timing analysis's set takes no longer on a simulator than its bound",
        items: 0,
        work: Work::Timing,
    },
    Campaign {
        name: "timing-adversarial",
        about:
            "generated programs that are meant to mislead the timing analysis, so many a side, run within what it says",
        items: 500,
        work: Work::AdversarialTiming,
    },
    Campaign {
        name: "timing-core",
        about: "every program of that set takes no longer on the Verilog of a RISC-V core than its bound",
        items: 0,
        work: Work::CoreTiming,
    },
    Campaign {
        name: "timing-foreign",
        about: "each vector of seL4, which is fetched and compiled, is followed to a bound, or to the loops that have none",
        items: 0,
        work: Work::ForeignTiming,
    },
    Campaign {
        name: "timing-rtos",
        about: "each handler of FreeRTOS for a Cortex-M3, which is fetched and compiled, is followed to a bound, or to such loops",
        items: 0,
        work: Work::RtosTiming,
    },
    Campaign {
        name: "timing-suites",
        about: "each program of a public suite, which is fetched and compiled for each target, is answered in time, no bound below its run",
        items: 0,
        work: Work::SuitesTiming,
    },
];

/// The text for a boot in which a signal ended the emulator, which some random states of a guest's processor cause.
const EMULATOR_CRASHED: &str = "the emulator ended first (signal ";

pub fn campaign(options: &CampaignOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let Some(name) = &options.name else {
        CAMPAIGNS.iter().for_each(|one| output.human(&format!("{:18} {}", one.name, one.about)));
        let listed = |one: &Campaign| Listed { name: one.name.into(), about: one.about.into() };
        output.json(&CampaignResult::List { campaigns: CAMPAIGNS.iter().map(listed).collect() });
        return Ok(());
    };
    let chosen = CAMPAIGNS.iter().find(|campaign| campaign.name == name).ok_or_else(|| {
        let known: Vec<&str> = CAMPAIGNS.iter().map(|campaign| campaign.name).collect();
        Failure::unable(format!("there is no campaign called {name}"), format!("the campaigns: {}", known.join(", ")))
    })?;
    let items = options.items.unwrap_or(chosen.items);
    let out = options.out.clone().unwrap_or_else(|| project.build().join("campaigns").join(name));
    let out = std::path::absolute(&out).unwrap_or(out);
    match options.shard {
        Some(shard) => one_shard(chosen, items, options.seed, shard, &out, project, output),
        None => {
            // What an earlier run left in the usual folder is of an older tree; in a named one it is kept and completed.
            if options.out.is_none() && out.exists() {
                std::fs::remove_dir_all(&out).map_err(|error| {
                    Failure::unable(format!("{} cannot be emptied: {error}", out.display()), "check permissions")
                })?;
            }
            all_shards(options, chosen, items, &out, project, output)
        }
    }
}

fn all_shards(
    options: &CampaignOptions,
    campaign: &Campaign,
    items: usize,
    out: &Path,
    project: &Project,
    output: &Output,
) -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
    let mut command = vec![own_tool()?.get_program().to_os_string()];
    let (seed, items) = (options.seed.to_string(), items.to_string());
    command.extend(["campaign", campaign.name, "--seed", &seed, "--items", &items, "--out"].map(Into::into));
    command.push(out.into());
    let plan = Plan {
        campaign: campaign.name.to_string(),
        seed: options.seed,
        shards: options.shards.map_or(cores, |shards| shards as usize),
        out: out.to_path_buf(),
        command,
        folder: project.root().to_path_buf(),
    };
    let engine = match options.engine {
        EngineName::Local => Engine::Local { jobs: options.jobs.unwrap_or(cores) },
        EngineName::Slurm => Engine::Slurm { arguments: options.sbatch.clone() },
    };
    let merged = plan.run(&engine, &mut |line| output.note(&line)).map_err(|error| {
        Failure::unable(error.to_string(), format!("see what the shards printed in {}", out.display()))
    })?;
    let campaigns = vec![merged];
    let shown = report::show(&campaigns, output);
    output.json(&CampaignResult::Merged { campaigns });
    shown
}

/// Runs one shard here and writes its record.
fn one_shard(
    campaign: &Campaign,
    items: usize,
    seed: u64,
    shard: Shard,
    out: &Path,
    project: &Project,
    output: &Output,
) -> Result<(), Failure> {
    let unwritable = |path: &Path, error: std::io::Error| {
        Failure::unable(format!("{} cannot be written: {error}", path.display()), "check permissions and free space")
    };
    std::fs::create_dir_all(out).map_err(|error| unwritable(out, error))?;
    let path = record_path(out, campaign.name, seed, shard);
    let record = match &campaign.work {
        Work::Boot { case, table } => boots(campaign, case, *table, items, seed, shard, out, project, output)?,
        Work::Proofs(kind) => {
            let record = prove::shard(*kind, items, seed, shard, project, output)?;
            Record { campaign: campaign.name.to_string(), ..record }
        }
        Work::Seeded(kind) => {
            by_tool(own_tool()?.args(["drivers", "seeded", "--kind", kind]), seed, shard, &path, project)?
        }
        Work::Differential => {
            let pairs = items.to_string();
            by_tool(own_tool()?.args(["drivers", "differential", "--pairs", &pairs]), seed, shard, &path, project)?
        }
        Work::Timing => {
            let tool = COMPARISON.ready(project, output)?;
            by_tool(Command::new(tool).args(["--json", "--jobs", "1"]), seed, shard, &path, project)?
        }
        Work::CoreTiming => {
            let tool = COMPARISON.ready(project, output)?;
            by_tool(Command::new(tool).args(["--json", "--jobs", "1", "--core"]), seed, shard, &path, project)?
        }
        Work::ForeignTiming => {
            let tool = FOREIGN.ready(project, output)?;
            by_tool(&mut Command::new(tool), seed, shard, &path, project)?
        }
        Work::RtosTiming => {
            let tool = FOREIGN.ready(project, output)?;
            by_tool(Command::new(tool).arg("freertos-cm3"), seed, shard, &path, project)?
        }
        Work::SuitesTiming => {
            let tool = SUITES.ready(project, output)?;
            by_tool(&mut Command::new(tool), seed, shard, &path, project)?
        }
        Work::AdversarialTiming => {
            let tool = COMPARISON.ready(project, output)?;
            let (count, options) = (items.to_string(), ["--json", "--jobs", "1", "--timeout", "20", "--adversarial"]);
            by_tool(Command::new(tool).args(options).arg(count), seed, shard, &path, project)?
        }
    };
    record.write(&path).map_err(|error| unwritable(&path, error))?;
    let bad = record.items.iter().filter(|item| !item.good).count();
    output.human(&format!("{}: {} items, {bad} findings", path.display(), record.items.len()));
    output.json(&CampaignResult::Shard(record));
    match bad {
        0 => Ok(()),
        _ => Err(Failure::Finding(String::new())),
    }
}

/// The command `ashlar` itself.
fn own_tool() -> Result<Command, Failure> {
    let path = std::env::current_exe();
    Ok(Command::new(path.map_err(|error| Failure::unable(format!("the tool's own file is unknown: {error}"), ""))?))
}

/// Has a tool try its share of the items, and reads the record that it writes.
fn by_tool(tool: &mut Command, seed: u64, shard: Shard, path: &Path, project: &Project) -> Result<Record, Failure> {
    let unable = |tool: &Command, text: String| {
        Failure::unable(format!("{} {text}", tool.get_program().to_string_lossy()), "run it by hand")
    };
    tool.args(["--seed", &seed.to_string(), "--shard", &shard.to_string(), "--record"]).arg(path);
    let done = tool.current_dir(project.root()).stdout(Stdio::null()).status();
    match done.map(|status| status.code()) {
        // 1: something was found; the record names it.
        Ok(Some(0 | 1)) => Record::read(path).map_err(|error| unable(tool, format!("left no record: {error}"))),
        Ok(status) => Err(unable(tool, format!("could not run (status {status:?})"))),
        Err(error) => Err(unable(tool, format!("cannot be started: {error}"))),
    }
}

/// Boots the case once for each item of the shard.
#[allow(clippy::too_many_arguments)]
fn boots(
    campaign: &Campaign,
    case: &str,
    table: [&str; 2],
    items: usize,
    seed: u64,
    shard: Shard,
    out: &Path,
    project: &Project,
    output: &Output,
) -> Result<Record, Failure> {
    let case = cases::case(project, case)?;
    let builds = Builds::new(project);
    let mut record = Record::new(campaign.name, seed, shard);
    let positions: Vec<usize> = (0..items).filter(|position| shard.has(*position)).collect();
    let progress = output.progress(positions.len());
    for position in positions {
        // Small and odd: arguments of programs are signed numbers, and some generators need a state that is not 0.
        let number = (item_seed(seed, position as u64) >> 33) | 1;
        let id = format!("{position}-seed{number}");
        progress.step(&id);
        let started = Instant::now();
        let outcome = boot(campaign.name, &id, &case, table, number, out, &builds, output)?;
        let (verdict, is_good, why) = match outcome {
            Outcome::Passed => ("passed", true, None),
            // The emulator's own fault: it shows nothing of the kernel, neither good nor bad.
            Outcome::Failed(why) if why.contains(EMULATOR_CRASHED) => ("inconclusive", true, Some(why)),
            Outcome::Failed(why) => ("failed", false, Some(why)),
            Outcome::Skipped(why) => ("skipped", false, Some(why)),
        };
        let item = record.push(id, verdict, is_good);
        item.detail.insert("seconds".into(), started.elapsed().as_secs().into());
        item.detail.extend(why.map(|why| ("why".to_string(), Value::from(why))));
    }
    Ok(record)
}

/// Boots the case's system with another seed.
#[allow(clippy::too_many_arguments)]
fn boot(
    campaign: &str,
    id: &str,
    case: &Case,
    table: [&str; 2],
    seed: u64,
    out: &Path,
    builds: &Builds<'_>,
    output: &Output,
) -> Result<Outcome, Failure> {
    let project = builds.project();
    let name = format!("{campaign}-{id}");
    let description = out.join(format!("{name}.toml"));
    write_description(&project.description(&case.system)?, table, seed, &description)?;
    let case = Case { system: description.display().to_string(), ..case.clone() };
    let outcome = cases::play(&case, &name, builds, output);
    // A finding keeps what shows it: description, image, logs.
    if matches!(outcome, Outcome::Passed) {
        let folders = [project.system_folder(&name), project.build().join("tests").join(&name)];
        // A folder that cannot be removed takes space, but does no harm.
        folders.iter().for_each(|folder| drop(std::fs::remove_dir_all(folder)));
        drop(std::fs::remove_file(&description));
    }
    Ok(outcome)
}

/// Writes the description `from` with another `seed` to `to`.
fn write_description(from: &Path, table: [&str; 2], seed: u64, to: &Path) -> Result<(), Failure> {
    let fault = |text: String| Failure::unable(format!("{}: {text}", from.display()), "");
    let text = std::fs::read_to_string(from).map_err(|error| fault(error.to_string()))?;
    let changed = with_seed(&text, table, seed).map_err(fault)?;
    std::fs::write(to, changed).map_err(|error| fault(format!("{} cannot be written: {error}", to.display())))
}

fn with_seed(text: &str, [kind, name]: [&str; 2], seed: u64) -> Result<String, String> {
    let mut description: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let arguments = description
        .get_mut(kind)
        .and_then(|all| all.get_mut(name)?.as_table_mut())
        .map(|table| table.entry("args").or_insert_with(|| toml::Table::new().into()))
        .and_then(|arguments| arguments.as_table_mut())
        .ok_or_else(|| format!("there is no table [{kind}.{name}] with arguments"))?;
    let seed = i64::try_from(seed).map_err(|error| error.to_string())?;
    arguments.insert("seed".into(), seed.into());
    toml::to_string(&description).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{with_seed, Work, CAMPAIGNS};
    use std::path::Path;

    #[test]
    fn campaigns_change_a_seed_that_the_program_is_given() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
        for campaign in CAMPAIGNS {
            let Work::Boot { case, table } = &campaign.work else { continue };
            let case: toml::Table =
                std::fs::read_to_string(tests.join(format!("{case}.toml"))).unwrap().parse().unwrap();
            let system = case["system"].as_str().unwrap();
            let folders = [tests.join("systems"), tests.join("../../systems")];
            let texts = folders.map(|folder| std::fs::read_to_string(folder.join(format!("{system}.toml"))));
            let text = texts.into_iter().find_map(Result::ok).unwrap();
            let (one, two) = (with_seed(&text, *table, 1).unwrap(), with_seed(&text, *table, 77).unwrap());
            assert_ne!(one, two);
            let description: toml::Table = toml::from_str(&two).unwrap();
            assert_eq!(description[table[0]][table[1]]["args"]["seed"].as_integer(), Some(77), "{}", campaign.name);
        }
        assert!(with_seed("[process.a]\nprogram = 'x'", ["process", "b"], 1).is_err());
    }
}
