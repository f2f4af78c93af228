//! Lists as aligned tables, for people. Programs take `--json`.

use serde_json::Value;

use crate::cli::support::{on_one_line, shown_time};

/// A cell of a value of an answer: `-` for nothing, times in the form for people, texts of a list
/// behind one another.
pub fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::from("-"),
        Some(Value::String(text)) => on_one_line(&shown_time(text)).into_owned(),
        Some(Value::Bool(true)) => String::from("yes"),
        Some(Value::Bool(false)) => String::from("no"),
        Some(Value::Array(all)) if all.is_empty() => String::from("-"),
        Some(Value::Array(all)) => {
            all.iter().map(|it| cell(Some(it))).collect::<Vec<_>>().join(", ")
        }
        Some(value @ (Value::Number(_) | Value::Object(_))) => value.to_string(),
    }
}

/// The members of these names, one column each. A name is a JSON pointer without its first slash.
pub fn rows(list: &Value, members: &[&str]) -> Vec<Vec<String>> {
    let row =
        |item: &Value| members.iter().map(|name| cell(item.pointer(&format!("/{name}")))).collect();
    list.as_array().into_iter().flatten().map(row).collect()
}

/// Columns are as wide as their widest cell; columns of numbers are aligned on the right. Without
/// rows, says so: an empty table looks like a failure.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::from("(none)");
    }
    let cells = |at: usize| rows.iter().filter_map(move |row| row.get(at));
    let is_number = |cell: &String| cell.bytes().all(|it| it.is_ascii_digit()) || cell == "-";
    let columns: Vec<_> = head
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let width = cells(at).map(|cell| cell.chars().count()).max().unwrap_or(0);
            let is_right = cells(at).all(is_number) && cells(at).any(|cell| cell != "-");
            (width.max(name.chars().count()), is_right)
        })
        .collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&columns).map(|(cell, (width, is_right))| {
            if *is_right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        String::from(padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut lines = vec![line(&mut head.iter().copied())];
    lines.extend(rows.iter().map(|row| line(&mut row.iter().map(String::as_str))));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_a_table_with_aligned_columns_and_harmless_cells() {
        let list = json!([
            {"id": "a", "name": "Jos\u{e9}\u{1b}[31m", "count": 12, "at": "2026-11-14T09:30:00.5+00:00"},
            {"id": "bcd", "name": "x", "count": null, "inner": {"is": true}, "all": ["p", "q"]},
        ]);
        let rows = rows(&list, &["id", "name", "count", "at", "inner/is", "all"]);
        let expected = [
            "ID   NAME            COUNT  AT                    IS   ALL",
            "a    Jos\u{e9}\\u001b[31m     12  2026-11-14T09:30:00Z  -    -",
            "bcd  x                   -  -                     yes  p, q",
        ];
        let text = table(&["ID", "NAME", "COUNT", "AT", "IS", "ALL"], &rows);
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{text}");
        assert_eq!(table(&["ID"], &[]), "(none)");
    }
}
