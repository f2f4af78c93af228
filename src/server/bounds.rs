//! The bounds of a server as values, so that a test can shorten them.

use std::time::Duration;

use crate::bounds;

macro_rules! bounds {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $default:expr,)*) => {
        /// Every deadline and maximum of the connections; [`crate::bounds`] has the reasons.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Bounds {
            $($(#[$doc])* pub $name: $kind,)*
        }

        impl Default for Bounds {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }
    };
}

bounds! {
    connections_max: usize = bounds::CONNECTIONS_MAX,
    /// `None`: no maximum for a single address.
    connections_per_address_max: Option<usize> = Some(bounds::CONNECTIONS_PER_ADDRESS_MAX),
    handshake_max: Duration = bounds::HANDSHAKE_MAX,
    headers_max: Duration = bounds::HEADERS_MAX,
    header_bytes_max: usize = bounds::HEADER_BYTES_MAX,
    headers_count_max: usize = bounds::HEADERS_COUNT_MAX,
    write_max: Duration = bounds::WRITE_MAX,
    first_request_grace_max: Duration = bounds::FIRST_REQUEST_GRACE_MAX,
    drain_max: Duration = bounds::DRAIN_MAX,
    end_max: Duration = bounds::END_MAX,
    refusals_max: u32 = bounds::REFUSALS_MAX,
    spent_max: Duration = bounds::SPENT_MAX,
    h1_buffer_bytes_max: usize = bounds::H1_BUFFER_BYTES_MAX,
    h2_streams_max: u32 = bounds::H2_STREAMS_MAX,
    h2_streams_unknown_max: u32 = bounds::H2_STREAMS_UNKNOWN_MAX,
    h2_shared_max: usize = bounds::H2_SHARED_MAX,
    h2_resets_max: usize = bounds::H2_RESETS_MAX,
    h2_mistakes_max: usize = bounds::H2_MISTAKES_MAX,
    h2_control_frames_max: u32 = bounds::H2_CONTROL_FRAMES_MAX,
    h2_control_refill_after: Duration = bounds::H2_CONTROL_REFILL_AFTER,
    h2_stream_max: Duration = bounds::H2_STREAM_MAX,
    h2_unread_max: Duration = bounds::H2_UNREAD_MAX,
    h2_idle_max: Duration = bounds::H2_IDLE_MAX,
    h2_ping_after: Duration = bounds::H2_PING_AFTER,
    h2_ping_max: Duration = bounds::H2_PING_MAX,
    h2_stream_window_bytes: u32 = bounds::H2_STREAM_WINDOW_BYTES,
    h2_connection_window_bytes: u32 = bounds::H2_CONNECTION_WINDOW_BYTES,
    h2_frame_bytes_max: u32 = bounds::H2_FRAME_BYTES_MAX,
    h2_header_table_bytes: u32 = bounds::H2_HEADER_TABLE_BYTES,
    h2_send_bytes_max: usize = bounds::H2_SEND_BYTES_MAX,
    certificate_check_every: Duration = bounds::CERTIFICATE_CHECK_EVERY,
    refusals_logged_every: Duration = bounds::REFUSALS_LOGGED_EVERY,
}
