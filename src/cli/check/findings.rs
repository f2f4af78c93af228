//! The results of `strongroom check`: one for each thing that was checked or could not be checked.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::check::user::ServiceUser;
use crate::cli::support::Exit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Ok,
    Unknown,
    Warning,
    /// The server would not start, or would not do its work. Holds the exit code.
    Wrong(Exit),
}

impl State {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Wrong(_) => "wrong",
        }
    }
}

#[derive(Debug)]
pub struct Finding {
    /// The setting that names the thing.
    pub setting: String,
    pub path: Option<PathBuf>,
    pub state: State,
    pub found: String,
    pub advice: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct SettingPath<'a> {
    pub setting: &'a str,
    pub path: &'a Path,
}

impl<'a> SettingPath<'a> {
    pub(super) const fn of(setting: &'a str, path: &'a Path) -> Self {
        Self { setting, path }
    }
}

#[derive(Debug, Default)]
pub struct Findings {
    pub all: Vec<Finding>,
    /// The user that needs access to the files. Without one, access is not checked.
    pub(super) user: Option<ServiceUser>,
}

impl Findings {
    pub(super) fn ok(&mut self, place: SettingPath<'_>, found: impl Into<String>) {
        self.add(place, State::Ok, found, None);
    }

    pub(super) fn unknown(
        &mut self,
        place: SettingPath<'_>,
        found: impl Into<String>,
        advice: &str,
    ) {
        self.add(place, State::Unknown, found, Some(advice));
    }

    pub(super) fn warning(
        &mut self,
        place: SettingPath<'_>,
        found: impl Into<String>,
        advice: &str,
    ) {
        self.add(place, State::Warning, found, Some(advice));
    }

    /// The settings or the content of a file are wrong.
    pub(super) fn wrong(&mut self, place: SettingPath<'_>, found: impl Into<String>, advice: &str) {
        self.add(place, State::Wrong(Exit::Config), found, Some(advice));
    }

    /// A mode or an owner is wrong, or a key.
    pub(super) fn not_permitted(
        &mut self,
        place: SettingPath<'_>,
        found: impl Into<String>,
        advice: &str,
    ) {
        self.add(place, State::Wrong(Exit::Permission), found, Some(advice));
    }

    /// A mistake in the settings, in the form `name: what is wrong`.
    pub(super) fn mistake(&mut self, text: &str) {
        let (setting, found) = text.split_once(": ").unwrap_or(("settings", text));
        self.all.push(Finding {
            setting: String::from(setting),
            path: None,
            state: State::Wrong(Exit::Config),
            found: String::from(found),
            advice: None,
        });
    }

    /// Adds a result that names no file.
    pub(super) fn plain(&mut self, setting: &str, state: State, found: &str, advice: Option<&str>) {
        self.add(SettingPath { setting, path: Path::new("") }, state, found, advice);
    }

    fn add(
        &mut self,
        place: SettingPath<'_>,
        state: State,
        found: impl Into<String>,
        advice: Option<&str>,
    ) {
        let SettingPath { setting, path } = place;
        self.all.push(Finding {
            setting: String::from(setting),
            path: (!path.as_os_str().is_empty()).then(|| path.to_path_buf()),
            state,
            found: found.into(),
            advice: advice.map(String::from),
        });
    }

    /// The exit code of wrong settings if there are any, else the code of modes and keys.
    pub(super) fn exit(&self) -> Exit {
        let has = |exit| self.all.iter().any(|it| it.state == State::Wrong(exit));
        match (has(Exit::Config), has(Exit::Permission)) {
            (true, _) => Exit::Config,
            (false, true) => Exit::Permission,
            (false, false) => Exit::Success,
        }
    }

    pub(super) fn count(&self, name: &str) -> usize {
        self.all.iter().filter(|it| it.state.name() == name).count()
    }

    pub(super) fn mistakes(&self) -> Vec<String> {
        let wrong = self.all.iter().filter(|it| matches!(it.state, State::Wrong(_)));
        wrong.map(|it| format!("{}: {}", it.setting, it.found)).collect()
    }

    pub(super) fn text(&self) -> String {
        let width = self.all.iter().map(|it| it.setting.chars().count()).max().unwrap_or_default();
        let mut lines = Vec::new();
        for it in &self.all {
            let (state, setting) = (it.state.name(), &it.setting);
            let path = it.path.as_ref().map(|path| format!("{}: ", path.display()));
            let path = path.unwrap_or_default();
            lines.push(format!("{state:<7}  {setting:<width$}  {path}{}", it.found));
            if let Some(advice) = &it.advice {
                lines.push(format!("         {:width$}  try: {advice}", ""));
            }
        }
        lines.join("\n")
    }

    pub fn json(&self) -> Vec<Value> {
        let of = |it: &Finding| {
            json!({
                "setting": it.setting,
                "path": it.path.as_ref().map(|path| path.display().to_string()),
                "state": it.state.name(),
                "found": it.found,
                "advice": it.advice,
            })
        };
        self.all.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_settings_decide_the_code_before_wrong_modes() {
        let place = SettingPath { setting: "tls.private_key", path: Path::new("/k") };
        let mut findings = Findings::default();
        findings.ok(place, "belongs to the certificate");
        findings.warning(place, "is old", "renew it");
        findings.unknown(place, "is somewhere else", "look there");
        assert_eq!(findings.exit(), Exit::Success);
        findings.not_permitted(place, "mode 0644", "chmod 0400 /k");
        assert_eq!(findings.exit(), Exit::Permission);
        findings.mistake("listen[0]: must be an address");
        assert_eq!(findings.exit(), Exit::Config);
        let text = findings.text();
        for line in [
            "ok       tls.private_key  /k: belongs to the certificate",
            "wrong    tls.private_key  /k: mode 0644",
            "                          try: chmod 0400 /k",
            "wrong    listen[0]        must be an address",
        ] {
            assert!(text.lines().any(|it| it == line), "{text}");
        }
    }
}
