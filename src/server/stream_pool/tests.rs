use http_body_util::{BodyExt as _, Full};

use super::*;
use crate::domain::id::TenantId;

/// One permit is outside of the shares, eight are not: four for a tenant, two for strangers.
fn pool() -> Arc<StreamPool> {
    Arc::new(StreamPool::new(&Bounds {
        h2_shared_max: 9,
        h2_streams_unknown_max: 3,
        h2_frame_bytes_max: 4,
        ..Bounds::default()
    }))
}

fn streams(pool: &Arc<StreamPool>) -> Arc<ConnectionStreams> {
    Arc::new(ConnectionStreams::new(Arc::clone(pool)))
}

fn keyed(tenant: u128) -> Claimant {
    Claimant::Keyed(TenantId::new(uuid::Uuid::from_u128(tenant)))
}

fn stranger(address: u8) -> Claimant {
    Claimant::Stranger { address: [192, 0, 2, address].into(), tenant: None }
}

fn admitted(
    streams: &Arc<ConnectionStreams>,
    tries: usize,
    claimant: Claimant,
) -> Vec<Arc<StreamPermit>> {
    (0..tries).filter_map(|_| streams.admit(|| claimant)).collect()
}

#[test]
fn a_tenant_that_takes_all_it_can_get_leaves_streams_to_others() {
    let pool = pool();
    let connections: Vec<_> = (0..4).map(|_| streams(&pool)).collect();
    let held: Vec<_> = connections.iter().map(|it| admitted(it, 100, keyed(1))).collect();
    let counts: Vec<_> = held.iter().map(Vec::len).collect();
    assert_eq!(counts, [1 + 1 + 4, 1, 1, 1], "each has its first, one is free, four shared");
    let other = streams(&pool);
    let more = admitted(&other, 100, keyed(2));
    assert_eq!(more.len(), 1 + 2);
    drop(held);
    assert_eq!(
        admitted(&other, 100, keyed(2)).len(),
        1 + 2,
        "the free one, and the rest of a half"
    );
    drop(more);
    assert_eq!(pool.shares.taken(), 0);
    assert_eq!(pool.free_taken.load(Ordering::Relaxed), 0);
}

#[test]
fn without_a_key_a_connection_has_few_streams_and_all_together_a_part() {
    let pool = pool();
    let [one, other, third, known] = std::array::from_fn(|_| streams(&pool));
    let held = admitted(&one, 100, stranger(1));
    assert_eq!(held.len(), 1 + 1, "an eighth for its address");
    let more = admitted(&other, 100, stranger(1));
    assert_eq!(more.len(), 1, "the address has its share already");
    let last = admitted(&third, 100, stranger(2));
    assert_eq!(last.len(), 1, "an eighth of the rest is less than one");
    assert_eq!(admitted(&known, 100, keyed(1)).len(), 1 + 1 + 3, "half of the rest");
    drop((held, more, last));
    assert_eq!(pool.shares.taken(), 0);
}

#[test]
fn a_secret_key_that_was_shown_once_frees_the_connection_from_a_look_at_the_next() {
    let streams = streams(&pool());
    let held = admitted(&streams, 2, keyed(1));
    assert!(streams.is_known());
    assert!(streams.admit(|| panic!("a permit is free")).is_some());
    drop(held);
}

#[test]
fn an_answer_that_does_not_move_for_two_looks_is_stalled() {
    let streams = streams(&pool());
    let place = streams.admit(|| stranger(1)).unwrap();
    assert!(!(0..9).any(|_| streams.look_is_stalled()), "there is no answer yet");
    for _ in 0..9 {
        place.moves();
        assert!(!streams.look_is_stalled());
    }
    assert!(streams.look_is_stalled());
    drop(place);
    assert!(!(0..9).any(|_| streams.look_is_stalled()));
    assert_eq!(streams.open(), 0);
}

#[tokio::test]
async fn pieces_keep_the_place_until_they_are_gone() {
    let streams = streams(&pool());
    let place = streams.admit(|| stranger(1)).unwrap();
    let mut body = PacedBody::new(Full::new(Bytes::from_static(b"ten bytes.")), place);
    assert_eq!(body.size_hint().exact(), Some(10));
    let mut pieces = Vec::new();
    while let Some(frame) = body.frame().await {
        pieces.push(frame.unwrap().into_data().unwrap());
    }
    assert!(body.is_end_stream());
    drop(body);
    assert_eq!(pieces, ["ten ", "byte", "s."]);
    pieces.pop();
    assert_eq!(streams.open(), 1);
    drop(pieces);
    assert_eq!(streams.open(), 0);
}
