//! The tags of the document, in the order in which the reference shows them. The description of a
//! tag is a chapter of the manual, or a sentence if there is no chapter.

macro_rules! tags {
    ($($tag:ident $name:literal $text:expr;)+) => {
        /// A chapter of the reference, with the operations that belong to it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Tag { $($tag),+ }

        impl Tag {
            pub(super) const ALL: &[Self] = &[$(Self::$tag),+];

            pub(super) const fn name(self) -> &'static str {
                match self { $(Self::$tag => $name),+ }
            }

            /// Markdown.
            pub(super) const fn text(self) -> &'static str {
                match self { $(Self::$tag => $text),+ }
            }
        }
    };
}

macro_rules! chapter {
    ($file:literal) => {
        include_str!(concat!("../front/chapters/", $file))
    };
}

tags! {
    Interface "The interface" chapter!("operations.md");
    Errors "Errors" chapter!("errors.md");
    Tokens "Tokens" "A token stands for a value that the vault keeps: a card, a bank account, a \
        number of a person, or any JSON. Programs store and send the token's id; only callers with \
        the right to read it in plain see the value.";
    TokenIntents "Token intents" "A token intent holds a value for a limited time, until a program \
        converts it into a token with `token_intent_id` of `POST /tokens`. Web pages create intents \
        with a public key.";
    Proxies "Proxies" chapter!("proxies.md");
    PreconfiguredProxies "Pre-configured proxies" chapter!("preconfigured-proxies.md");
    Sessions "Sessions" chapter!("sessions.md");
    ClientKeys "Client encryption keys" chapter!("client-keys.md");
    Threeds "3-D Secure" chapter!("threeds.md");
    Webhooks "Webhooks" chapter!("webhooks.md");
    Applications "Applications" "An application is the account of a program: it has permissions, or \
        rules that apply to containers, and up to three API keys. A private application reads and \
        writes tokens, a public one collects values in browsers, a management one administers the \
        tenant and sees no token.";
    Tenant "Tenant" "The caller's own tenant: its settings, its usage, and the lists of people, \
        which are empty because this server has no users.";
    Logs "Logs" chapter!("logs.md");
    Enrichments "Enrichments" "Details of a card number's first digits, and the check of a bank \
        account.";
    Connections "Connection formulas" "The catalog of payment connections: the members that each \
        connection needs.";
    Fields "Hosted card fields" "Fields for card data that a shop mounts into its page. The card \
        number goes from the field to the vault and never enters the shop's page or server.";
    Console "Console" "The page for the administration of a tenant, and the operations that only \
        this page needs.";
    Health "Health and files" "Probes for load balancers, and the files that browsers load. None of \
        them needs a key.";
    Deprecated "Deprecated and missing parts" chapter!("deprecated.md");
    Promises "What you can rely on" chapter!("promises.md");
    Security "Security model" chapter!("security.md");
    Choices "Choices that the published interface leaves open" chapter!("choices.md");
}
