//! Programs of tenants: whether this server runs any, and behind which walls.

use crate::app::programs::{ProgramState, Walls};
use crate::operator::compliance_report::ComplianceReportSettings;
use crate::report::{Chapter, Requirement};

const REQUIREMENTS: &[Requirement] = &[
    Requirement("2.2.4", "Only necessary functions are enabled; all others are off."),
    Requirement("6.2.4", "Software is built so that common attacks on it do not succeed."),
];

/// `state` is absent if no server answers: then only the settings are known.
pub(super) fn chapter(state: Option<ProgramState>, settings: &ComplianceReportSettings) -> Chapter {
    let chapter = Chapter::new("Programs of tenants", REQUIREMENTS);
    let is_enabled = settings.known.as_ref().map(|known| known.code_enabled);
    match state {
        Some(ProgramState::Off) => {
            chapter.good("Tenants run no code on this server: code.enabled is false.")
        }
        Some(ProgramState::Refused(why)) => chapter.attention(format!(
            "code.enabled lets tenants run code, and this server refuses to: {why}."
        )),
        Some(ProgramState::Runs(walls)) if walls.are_whole() => chapter.good(
            "Tenants run code on this server. Each call has a process of its own without rights, \
             which Landlock and seccomp of the kernel confine.",
        ),
        Some(ProgramState::Runs(walls)) => chapter.attention(format!(
            "Tenants run code on this server without {} of the kernel, which \
             code.allow_without_sandbox allows.",
            missing(walls)
        )),
        None if is_enabled == Some(false) => {
            chapter.good("The settings do not let tenants run code: code.enabled is false.")
        }
        None => chapter.unknown(
            "No server answers, so that it is not known whether tenants run code and what \
             confines it.",
        ),
    }
}

const fn missing(walls: Walls) -> &'static str {
    match (walls.landlock, walls.seccomp) {
        (false, false) => "Landlock and seccomp",
        (false, true) => "Landlock",
        (true, _) => "seccomp",
    }
}
