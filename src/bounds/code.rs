//! Programs of tenants: workers, memory, time, and the bytes between a worker and the vault.

use std::time::Duration;

use super::connections::HEADER_BYTES_MAX;
use super::proxy_calls::PROXY_ANSWER_BYTES_MAX;

/// Workers that run a program at once.
///
/// Shares: a tenant takes half of the places that other tenants have left. Callers with no secret key
/// have half of all places, and those of one tenant half of what is left of that. A free place goes to
/// the tenant with the fewest. An address and a key have no share beside their tenant's.
pub const CODE_WORKERS: usize = 128;
pub const CODE_WORKERS_MAX: u64 = 1_024;
/// Workers that have started and wait for their first and only call. A start takes milliseconds, so
/// a few cover the calls that arrive at once.
pub const CODE_WORKERS_WARM: usize = 4;
pub const CODE_WORKERS_WARM_MAX: u64 = 64;
/// Calls that wait for a worker.
///
/// Shares: a tenant has a quarter of these places. Callers with no secret key have half of all places,
/// and half of their tenant's quarter. An address and a key have no share beside their tenant's.
pub const CODE_WAITING_MAX: usize = 512;
/// Memory of one program in mebibytes. The published interface names no number; its programs run
/// within 128.
pub const CODE_MEMORY_MIB: u64 = 128;
pub const CODE_MEMORY_MIB_MIN: u64 = 16;
pub const CODE_MEMORY_MIB_MAX: u64 = 2_048;
/// Memory that a worker needs in addition to its program's: data of this binary, copies of frames.
pub const CODE_WORKER_EXTRA_BYTES: u64 = 96 * 1024 * 1024;
/// Addresses that a worker needs in addition to this memory: the binary, which has 50 MiB, and room
/// for the allocator to align what it takes.
pub const CODE_WORKER_ADDRESS_BYTES: u64 = 256 * 1024 * 1024;
/// The stack of the engine. The system gives the thread 8 MiB.
pub const CODE_STACK_BYTES: usize = 1024 * 1024;
/// The longest call: an asynchronous one of the newer contract.
pub const CODE_TIMEOUT_MAX: Duration = Duration::from_mins(15);
/// A worker that has not started within this time is ended. It takes milliseconds, but not on a
/// machine without free memory.
pub const CODE_START_MAX: Duration = Duration::from_secs(20);
/// A template that has not copied itself within this time is replaced; it takes a millisecond. Its
/// workers go on.
pub const CODE_COPY_MAX: Duration = Duration::from_secs(5);
/// Workers of one template. They have the same addresses, which differ between templates.
pub const CODE_TEMPLATE_COPIES_MAX: usize = 256;
/// Processor time that the programs of a tenant may use before all but one of its workers run in the
/// background.
///
/// Shares: each tenant has this much. Addresses and keys have no share beside their tenant's.
pub const CODE_PROCESSOR_SAVED: Duration = Duration::from_millis(500);
/// Processor time that a tenant saves in a second.
pub const CODE_PROCESSOR_PER_SECOND: Duration = Duration::from_millis(20);
/// The time between two looks at what a worker has used, and a turn of one that computes in the
/// background.
pub const CODE_REVIEW_EVERY: Duration = Duration::from_millis(100);
/// The first look at a worker; the next ones take twice the time each. Most calls use less: one in the
/// background that has used less needs no turn, unless the vault is busy.
pub const CODE_FIRST_REVIEW: Duration = Duration::from_millis(3);

/// The result of a program.
pub const CODE_RESULT_BYTES_MAX: usize = 10 * 1024 * 1024;
/// An error that a program throws, as JSON. It becomes a tree of values, which takes more memory
/// than its text.
pub const CODE_THROWN_BYTES_MAX: usize = 1024 * 1024;
/// The message of an error that is not one of the published classes, and the title and the detail
/// of one that is.
pub const CODE_MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// One frame between a worker and the vault, in either direction.
pub const CODE_FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Memory of the frames between all workers and the vault, and of the filled arguments of calls.
///
/// Shares: a tenant takes half of the part that others have left. Callers with no secret key have the
/// share of one address together, an eighth. A key has no share beside its tenant's.
pub const CODE_FRAMES_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Smaller frames are not counted: a worker has one at a time.
pub const CODE_SMALL_FRAME_BYTES: usize = 16 * 1024;

/// Requests of one program that are under way at once. The worker queues the others.
pub const CODE_FETCHES_MAX: usize = 16;
/// Requests of one call.
pub const CODE_FETCHES_IN_ALL_MAX: usize = 10_000;
pub const CODE_FETCH_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
pub const CODE_FETCH_HEADERS_MAX: usize = 128;
/// Files of packages that one call asks for; further ones are not found.
pub const CODE_SOURCES_MAX: usize = 5_000;
/// Lines of one call; further ones are dropped.
pub const CODE_LINES_MAX: usize = 1_000;
/// A longer line is cut.
pub const CODE_LINE_BYTES_MAX: usize = 4 * 1024;
/// Timers of one program that are set at once.
pub const CODE_TIMERS_MAX: usize = 100_000;
/// Random bytes in one request of a program for them, as in browsers.
pub const CODE_RANDOM_BYTES_MAX: usize = 65_536;

/// Files of the operator's packages.
///
/// No share: the operator alone adds files.
pub const CODE_PACKAGE_FILES_MAX: usize = 20_000;
/// Bytes of these files, which stay in memory.
///
/// No share: the operator alone adds files.
pub const CODE_PACKAGES_BYTES_MAX: usize = 64 * 1024 * 1024;
pub const CODE_PACKAGE_FILE_BYTES_MAX: usize = 8 * 1024 * 1024;
pub const CODE_PACKAGE_NAME_BYTES_MAX: usize = 512;

const _: () = assert!(CODE_RESULT_BYTES_MAX < CODE_FRAME_BYTES_MAX);
const _: () = assert!(CODE_THROWN_BYTES_MAX <= CODE_RESULT_BYTES_MAX);
const _: () = assert!(CODE_MESSAGE_BYTES_MAX <= CODE_THROWN_BYTES_MAX);
const _: () = assert!(CODE_PACKAGE_FILE_BYTES_MAX < CODE_FRAME_BYTES_MAX);
// An answer of a destination fits into a frame with its headers.
const _: () = assert!(PROXY_ANSWER_BYTES_MAX + 2 * HEADER_BYTES_MAX < CODE_FRAME_BYTES_MAX);
// The unit allows the process twice the memory of requests in flight.
const _: () =
    assert!(super::MEMORY_OUTBOUND_MAX + CODE_FRAMES_BYTES_MAX <= super::MEMORY_IN_FLIGHT_MAX);
// On an idle server the largest frame finds its memory, even without a secret key.
const _: () = assert!(CODE_FRAME_BYTES_MAX <= CODE_FRAMES_BYTES_MAX / super::shares::ADDRESS_SHARE);
