//! placeholder until merge
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenType {
    Token,
}
impl TokenType {
    pub fn parse(t: &str) -> Option<Self> {
        (t == "token").then_some(Self::Token)
    }
    pub fn as_str(self) -> &'static str {
        "token"
    }
    pub fn default_mask(self) -> Option<&'static str> {
        None
    }
    pub fn default_fingerprint_expression(self) -> &'static str {
        "{{ data | stringify }}"
    }
}
