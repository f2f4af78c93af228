//! The worker: this binary, started again to run one call of one program.
//!
//! The process that the vault starts is a template. It gives up rights ([`sandbox`]), starts the
//! engine ([`engine`]), and copies itself on order ([`template`]). A copy is a worker: it has one
//! thread and one descriptor, its standard input, which is a socket to the vault. Before it knows a
//! call, it gives up every right that it does not need. Then it runs its one call and ends.

pub mod bytes;
pub mod crypto;
pub mod engine;
mod host;
pub mod link;
pub mod sandbox;
mod template;

use std::io::stdin;

use crate::code::worker::link::Link;

/// Makes workers by the orders on the standard input. The arguments are the process id of the vault and the
/// memory of a program in mebibytes; a worker without them has not been started by a vault.
///
/// The exit code says only that something is wrong: the vault takes a worker that ends without an
/// outcome for dead, whatever it says.
pub fn main(arguments: &[String]) -> u8 {
    // A panic message may hold a value of the program.
    std::panic::set_hook(Box::new(|_| ()));
    let [parent, memory_mib] = arguments else { return 64 };
    let (Ok(parent), Ok(memory_mib)) = (parent.parse(), memory_mib.parse::<u64>()) else {
        return 64;
    };
    let Ok(landlock) = sandbox::enter_template(parent) else { return 71 };
    let memory = usize::try_from(memory_mib.saturating_mul(1024 * 1024)).unwrap_or(usize::MAX);
    let become_worker = || template::become_worker(landlock, memory_mib);
    match engine::work(Link::new(stdin()), memory, become_worker) {
        Ok(()) => 0,
        Err(_) => 70,
    }
}
