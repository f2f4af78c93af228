//! The shipped alerts and the shipped dashboard name the metrics that the binary has, and every
//! metric of the binary is in one of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Vault, output_of, thorough};
use crate::reverse_proxies::find;
use crate::standby;
use crate::watch::on_socket;

const RULES: &str = include_str!("../../packaging/prometheus/strongroom.rules.yml");
const TESTS: &str = include_str!("../../packaging/prometheus/strongroom.rules.test.yml");
const DASHBOARD: &str = include_str!("../../packaging/grafana/strongroom.json");

/// The metrics that a text names. A series of a histogram stands for its family.
fn named(text: &str, families: &BTreeSet<String>) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let words = words.filter(|it| it.starts_with("strongroom_") || it.starts_with("process_"));
    let family = |word: &str| {
        let suffixes = ["_bucket", "_sum", "_count"].into_iter();
        let mut stems = suffixes.filter_map(|suffix| word.strip_suffix(suffix));
        String::from(stems.find(|stem| families.contains(*stem)).unwrap_or(word))
    };
    words.map(family).collect()
}

fn expressions(dashboard: &Value) -> Vec<&str> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    targets.map(|target| target["expr"].as_str().unwrap()).collect()
}

#[test]
fn alerts_and_dashboard_name_the_metrics_that_exist_and_leave_none_out() {
    let vault = Vault::start();
    let (_, page) = on_socket(&vault, "/metrics");
    let families = |page: &str| {
        let lines = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
        lines.map(String::from).collect::<BTreeSet<_>>()
    };
    let mut families = families(&page);
    families.extend(standby::METRICS.map(String::from));
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let alerts = named(RULES, &families);
    let panels = named(&expressions(&dashboard).join("\n"), &families);
    let known = |text: &str, names: &BTreeSet<String>| {
        let unknown: Vec<_> = names.difference(&families).collect();
        assert!(unknown.is_empty(), "{text} has {unknown:?}, which no vault has");
    };
    known("the alerts", &alerts);
    known("the dashboard", &panels);
    known("the tests of the alerts", &named(TESTS, &families));
    let unwatched: Vec<_> =
        families.iter().filter(|it| !alerts.contains(*it) && !panels.contains(*it)).collect();
    assert!(unwatched.is_empty(), "nobody watches {unwatched:?}");
}

#[test]
fn the_dashboard_can_be_imported() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    assert_eq!(
        (&dashboard["uid"], &dashboard["title"]),
        (&"strongroom".into(), &"Strongroom".into())
    );
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 36);
    assert!(dashboard.get("id").is_none(), "Grafana gives the number itself");
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "two panels have one id");
    let rows = panels.iter().filter(|panel| panel["type"] == "row");
    let rows: Vec<_> = rows.map(|row| row["title"].as_str().unwrap()).collect();
    let wanted =
        ["State", "Requests", "Latency", "Store", "Keys", "Backups", "Outbound", "Process"];
    assert_eq!(rows, wanted);
    let mut places = BTreeSet::new();
    for panel in panels {
        let place = &panel["gridPos"];
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|name| place[name].as_u64().unwrap());
        assert!(x + w <= 24 && w > 0 && h > 0, "{panel}");
        for (column, line) in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(places.insert((column, line)), "two panels lie over each other: {panel}");
        }
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{panel}");
            assert!(!panel["targets"].as_array().unwrap().is_empty(), "{panel}");
        }
    }
    for expression in expressions(&dashboard) {
        assert!(expression.contains("instance=~\"$instance\""), "{expression}");
    }
}

/// The values of a member at this depth of the rules.
fn members<'a>(name: &str, depth: usize) -> Vec<&'a str> {
    let start = format!("{}{name}: ", " ".repeat(depth));
    RULES.lines().filter_map(|line| line.strip_prefix(&start)).collect()
}

#[test]
fn every_alert_says_how_urgent_it_is_and_what_to_do_and_has_a_test() {
    let alerts: Vec<_> =
        RULES.lines().filter_map(|line| line.strip_prefix("      - alert: ")).collect();
    assert!(alerts.len() > 40);
    assert_eq!(alerts.iter().collect::<BTreeSet<_>>().len(), alerts.len());
    let severities = members("severity", 10);
    assert_eq!(severities.len(), alerts.len());
    assert!(severities.iter().all(|it| ["page", "ticket"].contains(it)), "{severities:?}");
    assert_eq!(members("summary", 10).len(), alerts.len());
    assert_eq!(members("description", 10).len(), alerts.len());
    for alert in alerts {
        assert!(TESTS.contains(&format!("alertname: {alert}\n")), "{alert} is not tested");
    }
}

#[test]
fn promtool_accepts_the_alerts_and_their_tests() {
    let Some(promtool) = find("promtool", "prometheus") else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/prometheus");
    let check = ["check", "rules", "strongroom.rules.yml"];
    let test = ["test", "rules", "strongroom.rules.test.yml"];
    for arguments in thorough(vec![check], vec![check, test]) {
        let ended = output_of(Command::new(&promtool).current_dir(&folder).args(arguments));
        let said = [ended.stdout, ended.stderr].concat();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}
