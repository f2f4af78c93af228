//! The bounds of a server as values, so that a test can shorten them.

use std::time::Duration;

use crate::bounds;

/// Every deadline and maximum of the connections; [`crate::bounds`] has the reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    pub connections_max: usize,
    /// `None`: no maximum for a single address.
    pub connections_per_address_max: Option<usize>,
    pub handshake_max: Duration,
    pub headers_max: Duration,
    pub header_bytes_max: usize,
    pub headers_count_max: usize,
    pub write_max: Duration,
    pub first_request_grace_max: Duration,
    pub drain_max: Duration,
    pub end_max: Duration,
    pub refusals_max: u32,
    pub spent_max: Duration,
    pub h1_buffer_bytes_max: usize,
    pub h2_streams_max: u32,
    pub h2_streams_unknown_max: u32,
    pub h2_shared_max: usize,
    pub h2_shared_unknown_max: usize,
    pub h2_resets_max: usize,
    pub h2_mistakes_max: usize,
    pub h2_control_frames_max: u32,
    pub h2_control_refill_after: Duration,
    pub h2_stream_max: Duration,
    pub h2_unread_max: Duration,
    pub h2_idle_max: Duration,
    pub h2_ping_after: Duration,
    pub h2_ping_max: Duration,
    pub h2_stream_window_bytes: u32,
    pub h2_connection_window_bytes: u32,
    pub h2_frame_bytes_max: u32,
    pub h2_header_table_bytes: u32,
    pub h2_send_bytes_max: usize,
    pub certificate_check_every: Duration,
    pub refusals_logged_every: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections_max: bounds::CONNECTIONS_MAX,
            connections_per_address_max: Some(bounds::CONNECTIONS_PER_ADDRESS_MAX),
            handshake_max: bounds::HANDSHAKE_MAX,
            headers_max: bounds::HEADERS_MAX,
            header_bytes_max: bounds::HEADER_BYTES_MAX,
            headers_count_max: bounds::HEADERS_COUNT_MAX,
            write_max: bounds::WRITE_MAX,
            first_request_grace_max: bounds::FIRST_REQUEST_GRACE_MAX,
            drain_max: bounds::DRAIN_MAX,
            end_max: bounds::END_MAX,
            refusals_max: bounds::REFUSALS_MAX,
            spent_max: bounds::SPENT_MAX,
            h1_buffer_bytes_max: bounds::H1_BUFFER_BYTES_MAX,
            h2_streams_max: bounds::H2_STREAMS_MAX,
            h2_streams_unknown_max: bounds::H2_STREAMS_UNKNOWN_MAX,
            h2_shared_max: bounds::H2_SHARED_MAX,
            h2_shared_unknown_max: bounds::H2_SHARED_UNKNOWN_MAX,
            h2_resets_max: bounds::H2_RESETS_MAX,
            h2_mistakes_max: bounds::H2_MISTAKES_MAX,
            h2_control_frames_max: bounds::H2_CONTROL_FRAMES_MAX,
            h2_control_refill_after: bounds::H2_CONTROL_REFILL_AFTER,
            h2_stream_max: bounds::H2_STREAM_MAX,
            h2_unread_max: bounds::H2_UNREAD_MAX,
            h2_idle_max: bounds::H2_IDLE_MAX,
            h2_ping_after: bounds::H2_PING_AFTER,
            h2_ping_max: bounds::H2_PING_MAX,
            h2_stream_window_bytes: bounds::H2_STREAM_WINDOW_BYTES,
            h2_connection_window_bytes: bounds::H2_CONNECTION_WINDOW_BYTES,
            h2_frame_bytes_max: bounds::H2_FRAME_BYTES_MAX,
            h2_header_table_bytes: bounds::H2_HEADER_TABLE_BYTES,
            h2_send_bytes_max: bounds::H2_SEND_BYTES_MAX,
            certificate_check_every: bounds::CERTIFICATE_CHECK_EVERY,
            refusals_logged_every: bounds::REFUSALS_LOGGED_EVERY,
        }
    }
}
