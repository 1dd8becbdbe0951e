//! Shards as the tasks of a Slurm job array. Nodes see the tree and the records at the same paths as this machine.

use super::EngineError;
use crate::plan::Plan;
use crate::shard::Shard;
use std::process::{Command, Stdio};

/// Submits the shards as one array and waits for its end.
pub fn run(plan: &Plan, shards: &[Shard], arguments: &[String]) -> Result<(), EngineError> {
    let script = plan.out.join(format!("{}-seed{}.sbatch", plan.campaign, plan.seed));
    std::fs::write(&script, text(plan)).map_err(|error| EngineError::Write(script.display().to_string(), error))?;
    let tasks: Vec<String> = shards.iter().map(|shard| shard.index.to_string()).collect();
    let mut command = Command::new("sbatch");
    command.args(["--wait", "--parsable", "--no-requeue"]).arg(format!("--array={}", tasks.join(",")));
    command.arg(format!("--job-name=ashlar-{}", plan.campaign)).arg("--chdir").arg(&plan.folder);
    let done = command
        .args(arguments)
        .arg(&script)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| EngineError::Start("sbatch".into(), error))?;
    // Its status is the worst of the tasks', which may have been killed. A job that was accepted has a number.
    let number = String::from_utf8_lossy(&done.stdout);
    if number.trim().chars().next().is_some_and(|first| first.is_ascii_digit()) {
        Ok(())
    } else {
        Err(EngineError::Refused(String::from_utf8_lossy(&done.stderr).trim().to_string()))
    }
}

/// The batch script of the array.
fn text(plan: &Plan) -> String {
    let command: Vec<String> = plan.command.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    let log = plan.out.join(format!("{}-seed{}-${{SLURM_ARRAY_TASK_ID}}", plan.campaign, plan.seed));
    format!(
        "#!/bin/sh\n#SBATCH --output=/dev/null\nexec {} --shard \"${{SLURM_ARRAY_TASK_ID}}/{count}\" >\"{}of{count}.log\" 2>&1\n",
        command.join(" "),
        log.display(),
        count = plan.shards
    )
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::plan::Plan;

    #[test]
    fn a_task_runs_the_shard_of_its_number() {
        let plan = Plan {
            campaign: "kills".into(),
            seed: 5,
            shards: 8,
            out: "/o".into(),
            command: vec!["/a b/tool".into(), "it's".into()],
            folder: "/".into(),
        };
        let text = text(&plan);
        assert!(text.contains(r#"exec '/a b/tool' 'it'\''s' --shard "${SLURM_ARRAY_TASK_ID}/8""#), "{text}");
        assert!(text.contains(r#">"/o/kills-seed5-${SLURM_ARRAY_TASK_ID}of8.log""#), "{text}");
    }
}
