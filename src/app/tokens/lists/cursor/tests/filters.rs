//! Filters of lists.

use super::*;

fn by(filter: TokenFilter) -> TokenQuery {
    TokenQuery { container: None, filter }
}

fn metadata(key: &str, value: &str) -> TokenFilter {
    TokenFilter::Metadata(String::from(key), String::from(value))
}

#[tokio::test]
async fn metadata_matches_key_and_value_exactly_and_by_case() {
    let vault = TestVault::new().await;
    for (text, key, value) in [("1", "user", "Ann"), ("2", "User", "Ann"), ("3", "user", "ann")] {
        let metadata = [(key, value)].into_iter().collect();
        vault.create_with(text, &["/a/"], |draft| draft.metadata = metadata).await;
    }
    let owner = vault.owner().await;
    let list = |key, value| list(&vault, &owner, &by(metadata(key, value)));
    assert_eq!(list("user", "Ann"), ["1"]);
    assert_eq!(list("User", "Ann"), ["2"]);
    assert_eq!(list("user", "ann"), ["3"]);
    assert_eq!(list("user", "An"), Vec::<String>::new());
    assert_eq!(list("use", "rAnn"), Vec::<String>::new());
}

#[tokio::test]
async fn type_and_fingerprint_and_search_term_match_exactly() {
    let vault = TestVault::new().await;
    vault.create("abc", &["/a/"]).await;
    vault.create("abd", &["/b/"]).await;
    vault.create("123456789", &["/a/"]).await;
    vault
        .create_with("021000021", &["/b/"], |draft| {
            draft.kind = Some(TokenType::UsBankRoutingNumber);
        })
        .await;
    let owner = vault.owner().await;
    let found = |filter| list(&vault, &owner, &by(filter));
    assert_eq!(found(TokenFilter::Type(TokenType::UsBankRoutingNumber)), ["021000021"]);
    assert_eq!(found(TokenFilter::Type(TokenType::Token)).len(), 3);
    assert_eq!(found(TokenFilter::Type(TokenType::Card)).len(), 0);
    let term = |text: &str| TokenFilter::SearchTerm(Secret::new(String::from(text)));
    assert_eq!(found(term("abd")), ["abd"]);
    assert_eq!(found(term("ABD")).len(), 0);
    let page = page(&vault, &owner, &by(term("abc")), &first(1));
    let print = page.tokens[0].token.fingerprint.clone();
    assert_eq!(found(TokenFilter::Fingerprint(print.clone())), ["abc"]);
    assert_eq!(found(TokenFilter::Fingerprint(print.to_lowercase())).len(), 0);
}

#[tokio::test]
async fn a_container_combines_with_a_filter() {
    let vault = TestVault::new().await;
    for (text, path) in [("x", "/a/"), ("x", "/a/b/"), ("x", "/c/"), ("y", "/a/")] {
        vault.create(text, &[path]).await;
    }
    let owner = vault.owner().await;
    let filter = TokenFilter::SearchTerm(Secret::new(String::from("x")));
    let query = TokenQuery { container: Some(Container::parse("/a/").unwrap()), filter };
    assert_eq!(list(&vault, &owner, &query), ["x", "x"]);
}
