//! Logs in reused files, where old frames follow the newest one.

use crate::domain::time::Timestamp;
use crate::store::engine::Engine as _;
use crate::store::engine::local::log::frame;
use crate::store::engine::local::log::segment::{Header, name};
use crate::store::engine::local::tests::damage::{check_refused, noise, replace, rows};
use crate::store::engine::local::tests::{apply, contents, put, start, started};
use crate::store::tables::Table;
use crate::store::tests::disk::{Image, TestDisk};

const SECTOR: usize = 512;
/// A frame of the tests takes two sectors.
const FRAME: usize = 2 * SECTOR;

/// A vault with 31 rows; only the log has the last three. They are in a reused file, with old
/// frames behind them. Returns the file's number and the end of its newest frame.
fn written_to_a_used_file() -> (Image, u64, usize) {
    let (disk, engine) = started();
    for key in 0..31 {
        apply(&engine, &put(Table::Tokens, &[key], &[key; 700])).unwrap();
        if key < 28 {
            engine.merge_turn(usize::from(key % 4)).unwrap();
        }
    }
    let end = engine.shared.log().end();
    drop(engine);
    let image = disk.durable();
    let (number, end) = (end.segment, usize::try_from(end.offset).unwrap());
    assert!(Header::decode(&image[&name(number)][..SECTOR]).unwrap().used_from > 0);
    assert!(image[&name(number)][end + SECTOR..].iter().any(|byte| *byte != 0), "no old frames");
    assert_eq!(rows(&image).len(), 31);
    (image, number, end)
}

/// The last write is a frame of two sectors and zeros behind it. Before it, the place had zeros in
/// the first sector and old bytes in the others: the start of an old frame, or its middle.
#[test]
fn any_part_of_the_last_write_to_a_used_file_that_reached_the_disk_is_accepted() {
    let (whole, number, end) = written_to_a_used_file();
    let mut old = Vec::new();
    frame::encode(2, Timestamp::from_seconds(1), &put(Table::Tokens, b"k", &[7; 700]), &mut old)
        .unwrap();
    let (head, middle) = old.split_at(SECTOR);
    for (old, reached) in [head, middle].into_iter().flat_map(|old| (0..8).map(move |it| (old, it)))
    {
        let mut image = whole.clone();
        for sector in (0..3).filter(|sector| reached & (1 << sector) == 0) {
            let before = if sector == 0 { &[0; SECTOR][..] } else { old };
            replace(&mut image, number, end - FRAME + sector * SECTOR, before);
        }
        let expected = if reached & 3 == 3 { 31 } else { 30 };
        let disk = TestDisk::holding(image);
        for next in 0..2 {
            let engine = start(&disk).unwrap_or_else(|it| panic!("sectors {reached:b}: {it}"));
            let found = contents(engine.snapshot().unwrap().as_ref()).len();
            assert_eq!(found, expected + next, "sectors {reached:b}");
            apply(&engine, &put(Table::Tokens, &[200 + u8::try_from(next).unwrap()], b"1"))
                .unwrap();
        }
    }
}

/// The first loss of power drops a frame's head, but keeps the zeros behind it. The second one
/// drops the zeros behind the next frame, which is shorter: the rest of the first frame follows it.
#[test]
fn two_losses_of_power_in_a_row_are_accepted_in_a_used_file() {
    let (mut image, number, end) = written_to_a_used_file();
    replace(&mut image, number, end - FRAME, &[0; SECTOR]);
    let disk = TestDisk::holding(image);
    let engine = start(&disk).unwrap();
    assert_eq!(contents(engine.snapshot().unwrap().as_ref()).len(), 30);
    let rest = disk.durable()[&name(number)][end - SECTOR..end].to_vec();
    apply(&engine, &put(Table::Tokens, b"short", b"1")).unwrap();
    drop(engine);
    let mut image = disk.durable();
    replace(&mut image, number, end - SECTOR, &rest);
    assert_eq!(rows(&image).len(), 31);
}

/// Frames of an earlier use end with zeros, so bytes up to the end of the file are not such frames.
#[test]
fn noise_up_to_the_end_of_a_used_file_is_damage() {
    let (mut image, number, end) = written_to_a_used_file();
    let rest = image[&name(number)].len() - end;
    replace(&mut image, number, end, &noise(rest));
    check_refused(&image, &[&name(number), "not free"]);
}

#[test]
fn the_last_frames_of_a_used_file_under_other_bytes_are_damage() {
    let (reused, number, end) = written_to_a_used_file();
    for frames in [1, 2, 3] {
        let mut image = reused.clone();
        replace(&mut image, number, end - frames * FRAME, &noise(frames * FRAME));
        check_refused(&image, &[&name(number), "not free"]);
    }
}
