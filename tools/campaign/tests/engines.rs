//! Plans on the local engine, with shell scripts in the place of campaigns.

use campaign::{CampaignError, Engine, Plan, Shard};
use testing::Folder;

/// A campaign whose shards run `script` with `$i` and `$n` of the shard; function `record` writes its record.
fn plan(folder: &Folder, shards: usize, script: &str) -> Plan {
    let prelude = r#"i=${2%/*}; n=${2#*/}; echo "shard $2"
        record() {
            echo "{\"campaign\":\"c\",\"seed\":9,\"shard\":[$i,$n],\"items\":[{\"id\":\"item$i\",\"verdict\":\"$1\",\"good\":$2}]}" \
                >"c-seed9-${i}of$n.json"
        }
"#;
    Plan {
        campaign: "c".into(),
        seed: 9,
        shards,
        out: folder.to_path_buf(),
        command: vec!["sh".into(), "-c".into(), format!("{prelude}{script}").into(), "shard".into()],
        folder: folder.to_path_buf(),
    }
}

fn run(plan: &Plan) -> (Result<campaign::Merged, CampaignError>, Vec<String>) {
    let mut told = Vec::new();
    (plan.run(&Engine::Local { jobs: 2 }, &mut |line| told.push(line)), told)
}

#[test]
fn all_shards_run_and_are_merged() {
    let folder = Folder::new("all");
    let plan = plan(&folder, 5, "record passed true");
    let merged = run(&plan).0.unwrap();
    assert!(merged.is_good() && merged.items.len() == 5, "{merged:?}");
    let log = plan.log(Shard { index: 4, count: 5 });
    assert_eq!(std::fs::read_to_string(log).unwrap(), "shard 4/5\n");
}

#[test]
fn a_shard_that_is_killed_is_found_and_run_again() {
    let folder = Folder::new("killed");
    let plan = plan(&folder, 3, "if [ $i = 2 ] && mkdir died 2>/dev/null; then kill -9 $$; fi; record passed true");
    let (merged, told) = run(&plan);
    assert!(merged.unwrap().is_good());
    assert_eq!(told, ["running 3 shards", "lost, and run again: 2/3"]);
}

#[test]
fn a_shard_that_never_reports_is_missing() {
    let folder = Folder::new("missing");
    let plan = plan(&folder, 3, "[ $i = 3 ] || record passed true");
    let (merged, told) = run(&plan);
    let merged = merged.unwrap();
    assert_eq!((merged.missing.as_slice(), merged.is_good()), (&[3][..], false));
    assert_eq!(told.len(), 3);
}

#[test]
fn half_a_record_and_one_of_another_campaign_are_none() {
    let folder = Folder::new("half");
    let plan = plan(&folder, 2, "echo $i >>ran; record passed true");
    std::fs::write(plan.record(Shard { index: 1, count: 2 }), "{\"campaign\":\"c\",").unwrap();
    let other = r#"{"campaign":"d","seed":9,"shard":[2,2],"items":[]}"#;
    std::fs::write(plan.record(Shard { index: 2, count: 2 }), other).unwrap();
    assert!(run(&plan).0.unwrap().is_good());
    // What is there now is kept.
    let (merged, told) = run(&plan);
    assert!(merged.unwrap().is_good());
    assert_eq!(told, ["2 of 2 shards have a record already"]);
    assert_eq!(std::fs::read_to_string(folder.join("ran")).unwrap().lines().count(), 2);
}

#[test]
fn a_finding_ends_the_shard_badly_and_is_no_loss() {
    let folder = Folder::new("finding");
    let plan = plan(&folder, 2, "record survived $([ $i = 1 ] && echo false || echo true); exit 1");
    let (merged, told) = run(&plan);
    assert_eq!(merged.unwrap().findings, 1);
    assert_eq!(told, ["running 2 shards"]);
}

#[test]
fn what_cannot_be_started_is_said() {
    let folder = Folder::new("start");
    let mut plan = plan(&folder, 2, "exit 3");
    assert!(matches!(run(&plan).0, Err(CampaignError::Nothing(..))));
    plan.command = vec!["/nonexistent/program".into()];
    assert!(run(&plan).0.unwrap_err().to_string().contains("/nonexistent/program"));
}
