//! A data file that ends inside its header is cut short, which is no failure of the disk.

use std::fs;

use crate::harness::{Vault, needs_data_file};

#[test]
fn a_data_file_that_ends_inside_its_header_is_damaged_data() {
    needs_data_file!("it cuts the file");
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    let path = vault.data().join("strongroom.redb");
    let bytes = fs::read(&path).unwrap();
    for length in [10, 100, 319] {
        fs::write(&path, &bytes[..length]).unwrap();
        vault.verify().with_code(65);
    }
}
