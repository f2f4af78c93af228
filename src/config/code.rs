//! `[code]`: programs of tenants.

use std::path::PathBuf;

use super::reader::SettingsReader;
use crate::bounds::{
    CODE_MEMORY_MIB, CODE_MEMORY_MIB_MAX, CODE_MEMORY_MIB_MIN, CODE_WORKERS, CODE_WORKERS_MAX,
    CODE_WORKERS_WARM, CODE_WORKERS_WARM_MAX,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSettings {
    pub enabled: bool,
    pub workers_max: usize,
    pub workers_warm: usize,
    pub memory_mib: u64,
    /// Run programs although the kernel cannot confine them fully.
    pub allow_without_sandbox: bool,
    /// The directory of the packages that programs may require.
    pub packages: Option<PathBuf>,
}

impl SettingsReader {
    pub(super) fn code(&mut self) -> CodeSettings {
        let memory = CODE_MEMORY_MIB_MIN..=CODE_MEMORY_MIB_MAX;
        CodeSettings {
            enabled: self.flag("code.enabled", false),
            workers_max: self.count_within("code.workers_max", CODE_WORKERS, 1..=CODE_WORKERS_MAX),
            workers_warm: self.count_within(
                "code.workers_warm",
                CODE_WORKERS_WARM,
                0..=CODE_WORKERS_WARM_MAX,
            ),
            memory_mib: self.integer("code.memory_mib", CODE_MEMORY_MIB, memory),
            allow_without_sandbox: self.flag("code.allow_without_sandbox", false),
            packages: self.optional_path("code.packages"),
        }
    }
}
