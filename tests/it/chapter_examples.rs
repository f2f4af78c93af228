//! Every block of commands and code in the chapters is run as it is printed, in the order of its
//! chapter, with the addresses of payment providers replaced by that of the tests' own.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::client_keys::{encrypt, new_key};
use crate::harness::{Directory, NUMBER, Received, Vault, output_of, program};
use crate::proxy::Scene;
use crate::quickstarts::{CLIENTS, can_run};

const CHAPTERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/front/chapters");
const PROVIDERS: [&str; 5] = [
    "https://psp.example",
    "https://api.stripe.com",
    "https://checkout-test.adyen.com",
    "https://YOUR_PREFIX.api.sandbox.checkout.com",
    "https://payments.sandbox.braintree-api.com",
];

#[test]
fn the_code_of_all_chapters_runs_as_printed() {
    let Some(desk) = Desk::prepare() else { return };
    let mut count = 0;
    let mut chapters: Vec<_> =
        std::fs::read_dir(CHAPTERS).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    chapters.sort();
    for name in chapters {
        let name = name.to_str().unwrap();
        for (language, code) in blocks(&chapter(name)) {
            // The value of an option, which is no program.
            if name == "card-fields.md" && language == "js" {
                continue;
            }
            // Programs that run inside the vault: the library of programs has a test of them.
            if name == "programs.md" && language == "js" {
                continue;
            }
            if desk.run(name, language, code) {
                count += 1;
            }
        }
    }
    assert!(count > 20, "only {count} blocks were run");
    // The two imports of the chapter about moving.
    for id in [MOVED, &desk.old_token] {
        desk.scene
            .vault
            .get(&format!("/tokens/{id}"), &desk.scene.vault.keys.private)
            .with_status(200);
    }
}

#[test]
fn the_requests_for_payment_providers_arrive_with_the_card_in_the_members_that_they_publish() {
    let Some(desk) = Desk::prepare() else { return };
    let name = "payment-providers.md";
    let received: Vec<Received> = blocks(&chapter(name))
        .into_iter()
        .map(|(language, code)| {
            assert!(desk.run(name, language, code));
            desk.scene.psp.received_once()
        })
        .collect();
    let [stripe, adyen, checkout, braintree] = received.try_into().ok().unwrap();
    assert_eq!(stripe.path(), "/echo/v1/payment_methods");
    assert_eq!(stripe.header("authorization"), Some("Bearer sk_stripe"));
    let form = "type=card&card[number]=4242424242424242&card[exp_month]=4&card[exp_year]=2031\
                &card[cvc]=917";
    assert_eq!(stripe.text(), form);
    assert_eq!(
        (adyen.path(), adyen.header("x-api-key")),
        ("/echo/v71/payments", Some("key_adyen"))
    );
    assert_eq!(
        json_of(&adyen)["paymentMethod"],
        json!({"type": "scheme", "number": NUMBER, "expiryMonth": "04", "expiryYear": "2031", "cvc": "917"})
    );
    assert_eq!(checkout.path(), "/echo/payments");
    assert_eq!(
        json_of(&checkout)["source"],
        json!({"type": "card", "number": NUMBER, "expiry_month": 4, "expiry_year": 2031, "cvv": "917"})
    );
    assert_eq!(braintree.header("braintree-version"), Some("2019-01-01"));
    let braintree = json_of(&braintree);
    assert!(braintree["query"].as_str().unwrap().starts_with("mutation ($input: Tokenize"));
    assert_eq!(
        braintree["variables"]["input"]["creditCard"],
        json!({"number": NUMBER, "expirationMonth": "04", "expirationYear": "2031", "cvv": "917"})
    );
}

fn chapter(name: &str) -> String {
    std::fs::read_to_string(format!("{CHAPTERS}/{name}")).unwrap()
}

fn json_of(received: &Received) -> Value {
    serde_json::from_slice(&received.body).unwrap()
}

/// The id of the token in the file of the vendor's export.
const MOVED: &str = "7f2fda86-5b1f-4d1e-9c37-0a3c6b1c5d11";

/// A vault, a vault to move from, and the directory of a reader who copies examples.
struct Desk {
    scene: Scene,
    old: Vault,
    old_token: String,
    place: Directory,
}

impl Desk {
    /// `None` if the clients are not installed here, and need not be.
    fn prepare() -> Option<Self> {
        let python = format!("{CLIENTS}/python/bin/python");
        let modules = format!("{CLIENTS}/node/node_modules");
        let has_all =
            can_run("curl --version && bash --version && node --version && openssl version")
                && can_run(&format!("{python} -c 'import basis_theory' && test -d {modules}"));
        if !has_all {
            return None;
        }
        let (scene, old, place) = (Scene::start(), Vault::start(), Directory::new());
        let old_token = old.token(json!({"type": "token", "data": "moved"}));
        symlink(&modules, place.join("node_modules")).unwrap();
        let rows = "customer_id,bt_token_id,number,expiration_month,expiration_year\n";
        place.write("cards.csv", format!("{rows}c1,{MOVED},{NUMBER},12,2030\n"), 0o600);
        place.write(".curlrc", "silent\nfail-with-body\n", 0o600);
        std::fs::create_dir(place.join("bin")).unwrap();
        let data = scene.vault.data();
        let command = format!(
            "#!/bin/sh\nexec {} \"$@\" --data {}\n",
            program().to_str().unwrap(),
            data.display()
        );
        place.write("bin/strongroom", command, 0o700);
        place.write("bin/python3", format!("#!/bin/sh\nexec {python} \"$@\"\n"), 0o700);
        let authorities: Vec<_> = [&scene.vault, &old]
            .map(|it| std::fs::read(it.data().join("ca.pem")).unwrap())
            .concat();
        place.write("ca.pem", authorities, 0o600);
        Some(Self { scene, old, old_token, place })
    }

    /// Runs a block; false for a language that is not run.
    fn run(&self, chapter: &str, language: &str, code: &str) -> bool {
        let name = match language {
            "sh" => "example.sh",
            "python" => "example.py",
            "js" if code.contains("require(") => "example.cjs",
            "js" => "example.mjs",
            _ => return false,
        };
        let psp = self.scene.psp.url("/echo");
        let code = PROVIDERS.iter().fold(String::from(code), |code, url| code.replace(url, &psp));
        let code = if language == "sh" { format!("PATH=$PWD/bin:$PATH\n{code}") } else { code };
        self.place.write(name, &code, 0o600);
        let mut command = match language {
            "sh" => Command::new("bash"),
            "python" => Command::new(self.place.join("bin/python3")),
            _ => Command::new("node"),
        };
        if language == "sh" {
            command.args(["-eu", "-o", "pipefail"]);
        }
        command.arg(name).current_dir(self.place.path());
        for (name, value) in self.variables(&code) {
            command.env(name, value);
        }
        let ended = output_of(&mut command);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = text(&ended.stdout) + &text(&ended.stderr);
        assert!(ended.status.success(), "{chapter}\n{code}\n{said}");
        true
    }

    fn variables(&self, code: &str) -> Vec<(&'static str, String)> {
        let vault = &self.scene.vault;
        let ca = self.place.join("ca.pem").display().to_string();
        let mut variables = vec![
            ("CURL_HOME", self.place.path().display().to_string()),
            ("SSL_CERT_FILE", ca.clone()),
            ("NODE_EXTRA_CA_CERTS", ca.clone()),
            ("CA", ca),
            ("URL", format!("https://{}", vault.address)),
            ("KEY", vault.keys.private.clone()),
            ("PUBLIC_KEY", vault.keys.public.clone()),
            ("MANAGEMENT_KEY", vault.keys.management.clone()),
            ("TENANT", vault.tenant_id.clone()),
            ("ID", self.scene.card.clone()),
            ("OLD_URL", format!("https://{}", self.old.address)),
            ("OLD_KEY", self.old.keys.private.clone()),
            ("STRIPE_KEY", String::from("sk_stripe")),
            ("ADYEN_KEY", String::from("key_adyen")),
            ("CHECKOUT_KEY", String::from("sk_checkout")),
            ("BRAINTREE_KEY", String::from("YnJhaW50cmVl")),
        ];
        if code.contains("$ENCRYPTED") {
            variables.push(("ENCRYPTED", encrypt(&new_key(vault), &json!({"number": NUMBER}))));
        }
        if code.contains("$WEBHOOK_ID") {
            let listed = vault.get("/webhooks", &vault.keys.management).with_status(200).json;
            let id = listed["data"][0]["id"].as_str().unwrap();
            variables.push(("WEBHOOK_ID", String::from(id)));
        }
        variables
    }
}

/// The blocks of code with their languages.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let fenced = text.split("```").skip(1).step_by(2);
    fenced.filter_map(|block| block.split_once('\n')).collect()
}
