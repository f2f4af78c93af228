//! Panic hooks. A panic on damaged pages that cannot be caught ends the process with the exit code
//! of damaged data. After an abort, which has the code of a crash, the service manager would start
//! the program again.

use std::panic::{set_hook, take_hook};
use std::process;

use crate::bounds::LOG_FLUSH_MAX;
use crate::cli::support::{Exit, Failure, complain};
use crate::log::{Log, install_panic_hook};
use crate::store::panic_cannot_be_caught;

pub fn log_panics(log: &Log) {
    install_panic_hook(log.clone());
    let log = log.clone();
    end_if_not_caught(move || {
        log.flush(LOG_FLUSH_MAX);
    });
}

/// Extends the panic hook. `finish` runs just before the process ends.
pub fn end_if_not_caught(finish: impl Fn() + Send + Sync + 'static) {
    let hook = take_hook();
    set_hook(Box::new(move |panic| {
        hook(panic);
        if panic_cannot_be_caught() {
            finish();
            let failure = damaged_pages();
            complain(&failure.to_string());
            #[expect(clippy::exit, reason = "the alternative is an abort")]
            process::exit(failure.exit.code().into());
        }
    }));
}

pub fn damaged_pages() -> Failure {
    Failure::new(Exit::Data, "the data file is damaged")
        .why("the storage engine found an invalid page")
        .try_this("restore the newest backup and keep this file for examination")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::store::guard_pages;

    const CHILD: &str = "STRONGROOM_TEST_PANICS";

    struct PanicsAgain;

    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("while the work is given up");
        }
    }

    /// The hook belongs to the whole process, so the panics happen in a separate one.
    #[test]
    fn a_second_panic_on_damaged_pages_ends_with_the_code_of_damaged_data() {
        #[expect(clippy::disallowed_methods, reason = "the switch of this test")]
        let is_child = std::env::var(CHILD).is_ok();
        if is_child {
            end_if_not_caught(|| complain("finished"));
            for _ in 0..2 {
                assert!(guard_pages(|| panic!("caught")).is_err());
            }
            let _never = guard_pages(|| {
                let _again = PanicsAgain;
                panic!("the first one");
            });
            return;
        }
        let name = "cli::support::panics::tests::\
                    a_second_panic_on_damaged_pages_ends_with_the_code_of_damaged_data";
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([name, "--exact", "--nocapture"]).env(CHILD, "1");
        let ended = child.output().unwrap();
        let complaints = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(65), "{complaints}");
        assert!(complaints.contains("finished"), "{complaints}");
        assert!(complaints.contains("the data file is damaged"), "{complaints}");
    }
}
