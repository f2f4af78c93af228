//! Renders the part of the man macros that the guide uses as HTML. Everything that is text is
//! escaped; what is not known is left out and reported, and a test fails on it.

use crate::domain::html::escape;

#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) body: String,
    pub(super) headings: Vec<Heading>,
    /// Macros and escapes that are not known.
    pub(super) unknown: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Heading {
    /// 2 for a section, 3 for a part of it.
    pub(super) level: u8,
    pub(super) title: String,
    pub(super) anchor: String,
}

/// The list that is open. Its last item is open, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Bullets,
    Numbers,
    Terms,
}

impl List {
    const fn tags(self) -> (&'static str, &'static str) {
        match self {
            Self::Bullets => ("<ul>\n", "</li>\n</ul>\n"),
            Self::Numbers => ("<ol>\n", "</li>\n</ol>\n"),
            Self::Terms => ("<dl>\n", "</dd>\n</dl>\n"),
        }
    }
}

#[derive(Debug, Default)]
struct Renderer {
    out: Rendered,
    list: Option<List>,
    is_in_paragraph: bool,
    /// The next line of text is the term of a list.
    expects_term: bool,
    section: String,
    /// The lines of this section are left out: the page has contents with links.
    is_hidden: bool,
}

pub(super) fn render(source: &str) -> Rendered {
    let mut renderer = Renderer::default();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.starts_with(".\\\"") {
            continue;
        }
        let Some(request) = line.strip_prefix('.') else {
            let text = renderer.inline(line);
            renderer.text(&text);
            continue;
        };
        let (name, rest) = request.split_once(' ').unwrap_or((request, ""));
        match name {
            "EX" | "nf" => {
                let end = if name == "EX" { ".EE" } else { ".fi" };
                let code: Vec<_> = lines.by_ref().take_while(|line| *line != end).collect();
                renderer.code(&code);
            }
            name => renderer.request(name, rest),
        }
    }
    renderer.close_list();
    renderer.out
}

impl Renderer {
    fn request(&mut self, name: &str, rest: &str) {
        match name {
            // The title, hyphenation and indents.
            "TH" | "nr" | "in" => (),
            "SH" => self.heading(2, rest),
            "SS" => self.heading(3, rest),
            "PP" => self.close_list(),
            "TP" => {
                self.close_paragraph();
                self.expects_term = true;
            }
            "IP" => self.item(rest),
            "B" | "I" => {
                let tag = if name == "B" { "strong" } else { "em" };
                let text = self.inline(rest);
                self.text(&format!("<{tag}>{text}</{tag}>"));
            }
            unknown => self.out.unknown.push(format!(".{unknown}")),
        }
    }

    fn push(&mut self, html: &str) {
        if !self.is_hidden {
            self.out.body.push_str(html);
        }
    }

    fn heading(&mut self, level: u8, text: &str) {
        self.close_list();
        let title = plain(text);
        if level == 2 {
            self.is_hidden = title == "CONTENTS";
            self.section = slug(&title);
        }
        if self.is_hidden {
            return;
        }
        let anchor = match level {
            2 => self.section.clone(),
            _ => format!("{}--{}", self.section, slug(&title)),
        };
        self.push(&format!("<h{level} id=\"{anchor}\">{}</h{level}>\n", escape(&title)));
        self.out.headings.push(Heading { level, title, anchor });
    }

    fn text(&mut self, html: &str) {
        if self.expects_term {
            self.expects_term = false;
            self.next_item(List::Terms, &format!("<dt>{html}</dt>\n<dd>"));
            return;
        }
        if !self.is_in_paragraph {
            self.push("<p>");
            self.is_in_paragraph = true;
        }
        self.push(html);
        self.push("\n");
    }

    fn code(&mut self, lines: &[&str]) {
        self.close_paragraph();
        let text: Vec<_> = lines.iter().map(|line| escape(&plain(line))).collect();
        self.push(&format!("<pre><code>{}</code></pre>\n", text.join("\n")));
    }

    /// `.IP` with a bullet or a number begins an item; without one, a paragraph of the same item.
    fn item(&mut self, rest: &str) {
        let tag = rest.split(' ').next().unwrap_or_default();
        let number = tag.strip_suffix('.').and_then(|number| number.parse::<u32>().ok());
        match (tag, number) {
            ("", _) => self.close_paragraph(),
            ("\\(bu", _) => self.next_item(List::Bullets, "<li>"),
            (_, Some(number)) => {
                self.next_item(List::Numbers, &format!("<li value=\"{number}\">"));
            }
            (unknown, None) => self.out.unknown.push(format!(".IP {unknown}")),
        }
    }

    fn next_item(&mut self, list: List, start: &str) {
        self.close_paragraph();
        if self.list == Some(list) {
            self.push(if list == List::Terms { "</dd>\n" } else { "</li>\n" });
        } else {
            self.close_list();
            self.push(list.tags().0);
            self.list = Some(list);
        }
        self.push(start);
    }

    fn close_paragraph(&mut self) {
        if self.is_in_paragraph {
            self.push("</p>\n");
            self.is_in_paragraph = false;
        }
    }

    fn close_list(&mut self) {
        self.close_paragraph();
        if let Some(list) = self.list.take() {
            self.push(list.tags().1);
        }
    }

    /// A line of text with its fonts. A font ends with the line at the latest.
    fn inline(&mut self, line: &str) -> String {
        let (mut html, mut open) = (String::new(), "");
        for piece in pieces(line) {
            match piece {
                Piece::Font(font) => {
                    close_font(&mut html, open);
                    open = font;
                    if !font.is_empty() {
                        html.extend(["<", font, ">"]);
                    }
                }
                Piece::Text(text) => html.push_str(&escape(text)),
                Piece::Unknown => self.out.unknown.push(String::from(line)),
            }
        }
        close_font(&mut html, open);
        html
    }
}

fn close_font(html: &mut String, font: &str) {
    if !font.is_empty() {
        html.extend(["</", font, ">"]);
    }
}

#[derive(Debug, Clone, Copy)]
enum Piece<'a> {
    /// The element of the font that begins; empty for the plain one.
    Font(&'static str),
    Text(&'a str),
    Unknown,
}

const ESCAPES: &[(&str, Piece<'static>)] = &[
    ("\\fB", Piece::Font("strong")),
    ("\\fI", Piece::Font("em")),
    ("\\fR", Piece::Font("")),
    ("\\-", Piece::Text("-")),
    ("\\(aq", Piece::Text("'")),
    ("\\&", Piece::Text("")),
    ("\\e", Piece::Text("\\")),
];

fn pieces(line: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), line);
    while !rest.is_empty() {
        let known = ESCAPES
            .iter()
            .find_map(|(escape, piece)| rest.strip_prefix(escape).map(|after| (*piece, after)));
        let (piece, after) = match (known, rest.strip_prefix('\\')) {
            (Some(known), _) => known,
            (None, Some(after)) => (Piece::Unknown, after),
            (None, None) => {
                let end = rest.find('\\').unwrap_or(rest.len());
                let (text, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                (Piece::Text(text), after)
            }
        };
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The text as a reader sees it.
fn plain(line: &str) -> String {
    let text = |piece: &Piece<'_>| match piece {
        Piece::Text(text) => String::from(*text),
        Piece::Font(_) | Piece::Unknown => String::new(),
    };
    pieces(line).iter().map(text).collect()
}

fn slug(title: &str) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_become_elements_and_text_is_escaped() {
        let source = ".TH X 7\n.\\\" a comment\n.SH CONTENTS\nhidden\n.SH FIRST \\- ONE\nA \\fBb<c\\fR & \\fId\\fR\n\
                      .B e f\n.SS Part\n.TP\n\\fBterm\\fR\nmeaning\n.IP\nmore\n.TP\nother\nlast\n.PP\nafter\n\
                      .IP \\(bu 2\none\n.in +4n\n.EX\nls \\-l \\e <x>\n.EE\n.in\n.IP \\(bu 2\ntwo\n.IP 1. 4\nfirst\n";
        let rendered = render(source);
        let expected = "<h2 id=\"first-one\">FIRST - ONE</h2>\n\
             <p>A <strong>b&lt;c</strong> &amp; <em>d</em>\n<strong>e f</strong>\n</p>\n\
             <h3 id=\"first-one--part\">Part</h3>\n\
             <dl>\n<dt><strong>term</strong></dt>\n<dd><p>meaning\n</p>\n<p>more\n</p>\n</dd>\n\
             <dt>other</dt>\n<dd><p>last\n</p>\n</dd>\n</dl>\n<p>after\n</p>\n\
             <ul>\n<li><p>one\n</p>\n<pre><code>ls -l \\ &lt;x&gt;</code></pre>\n</li>\n\
             <li><p>two\n</p>\n</li>\n</ul>\n<ol>\n<li value=\"1\"><p>first\n</p>\n</li>\n</ol>\n";
        assert_eq!(rendered.body, expected);
        assert_eq!(rendered.unknown, Vec::<String>::new());
        let titles: Vec<_> = rendered.headings.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(titles, ["FIRST - ONE", "Part"]);
    }

    #[test]
    fn what_is_not_known_is_reported_and_never_becomes_markup() {
        let rendered = render(".SH A\n.XX <b>\n\\z<script>\n.IP x\n");
        assert_eq!(rendered.unknown, [".XX", "\\z<script>", ".IP x"]);
        assert!(!rendered.body.contains("<script>"), "{}", rendered.body);
    }
}
