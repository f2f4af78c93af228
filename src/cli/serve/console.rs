//! The console's sign-on: the rules for people from the settings, and the listener for those with
//! client certificates.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::bounds::{
    CONSOLE_CONNECTIONS_MAX, CONSOLE_SECRET_BYTES_MAX, CONSOLE_SECRET_BYTES_MIN, CONSOLE_SHARED_MAX,
};
use crate::cli::support::{Result, SecretFile, explain_bind};
use crate::config::{
    CertificateSignOn, Config, ConsoleSettings, ProxySignOn, SignOnSettings, Switch,
};
use crate::files::open_regular;
use crate::http::{Certified, ConsoleAccess, Http, ProxyHeaders, SignOnRules};
use crate::log::Log;
use crate::secret::Secret;
use crate::server::{Authority, ClientSubject, Server, Settings};

const SECRET: &str = "write 32 to 512 visible characters, such as `openssl rand -hex 32` prints";

const SECRET_FILE: SecretFile = SecretFile {
    what: "the secret of the console's sign-on",
    too_large: "it is too long",
    if_missing: "make the file, or correct console.secret_file",
    if_other: SECRET,
    bytes_max: 2 * 1_024,
};

/// The access of people and keys, and the listener for people with certificates.
pub(in crate::cli) fn set_up(
    config: &Config,
    log: &Log,
) -> Result<(ConsoleAccess, Option<Server>)> {
    Ok((access(&config.console)?, bind(config, log)?))
}

fn access(settings: &ConsoleSettings) -> Result<ConsoleAccess> {
    let sign_on = settings.sign_on.as_ref().map(rules).transpose()?;
    Ok(ConsoleAccess { takes_keys: settings.management_keys == Switch::On, sign_on })
}

fn rules(settings: &SignOnSettings) -> Result<SignOnRules> {
    Ok(SignOnRules {
        tenants: settings.tenants.clone(),
        viewers: settings.viewers.clone(),
        administrators: settings.administrators.clone(),
        sign_out: settings.sign_out.clone(),
        by_proxy: settings.by_proxy.as_ref().map(headers).transpose()?,
    })
}

fn headers(settings: &ProxySignOn) -> Result<ProxyHeaders> {
    Ok(ProxyHeaders {
        peers: settings.peers.clone(),
        user: settings.user_header.clone(),
        email: settings.email_header.clone(),
        groups: settings.groups_header.clone(),
        secret_header: settings.secret_header.clone(),
        secret: settings.secret_file.as_deref().map(read_secret).transpose()?,
    })
}

/// No failure shows any of the content.
pub(in crate::cli) fn read_secret(path: &Path) -> Result<Secret<String>> {
    let bytes = SECRET_FILE.read(path, open_regular(path), false)?;
    let text = std::str::from_utf8(bytes.expose()).map(str::trim).unwrap_or_default();
    let legal = CONSOLE_SECRET_BYTES_MIN..=CONSOLE_SECRET_BYTES_MAX;
    if legal.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Secret::new(String::from(text)));
    }
    let why = "it does not have 32 to 512 visible characters on one line";
    Err(SECRET_FILE.failure(path, why).try_this(SECRET))
}

/// Binds the listener for people with certificates. It has the certificate of the API listener.
fn bind(config: &Config, log: &Log) -> Result<Option<Server>> {
    let sign_on = config.console.sign_on.as_ref();
    let Some(CertificateSignOn { listen, client_ca }) =
        sign_on.and_then(|it| it.by_certificate.as_ref())
    else {
        return Ok(None);
    };
    let (certificate, key) = (config.certificate.clone(), config.private_key.clone());
    let mut settings = Settings::new(listen.clone(), certificate, key);
    settings.name = "console";
    settings.bounds.connections_max = CONSOLE_CONNECTIONS_MAX;
    settings.bounds.h2_shared_max = CONSOLE_SHARED_MAX;
    settings.authorities = vec![Authority { name: "console", ca: client_ca.clone() }];
    Server::bind(settings, log.clone()).map(Some).map_err(|error| explain_bind(&error))
}

/// Serves until the sender of `stopped` is dropped, then drains like the listener of the API.
pub(in crate::cli) async fn serve(
    server: Option<Server>,
    http: Arc<Http>,
    stopped: oneshot::Receiver<()>,
) {
    let Some(server) = server else { return };
    let answer = move |request, peer| {
        let http = Arc::clone(&http);
        async move {
            // The listener admits no client without a certificate. A request without its subject
            // has no person, and is refused.
            let subject = ClientSubject::of(&request).cloned().unwrap_or_default();
            let person = Certified::of(subject.common_name.as_deref(), subject.units);
            http.answer(request, peer, Some(person)).await
        }
    };
    server.run(answer, async { drop(stopped.await) }).await;
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_a_long_secret_in_a_private_file_is_read_and_no_failure_shows_it() {
        let name = format!("strongroom-console-secret-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::remove_file(&path).ok();
        let write = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let secret = "5ec2e7".repeat(8);
        write(&format!("{secret}\n"), 0o400);
        assert_eq!(read_secret(&path).unwrap().expose(), &secret);
        for (text, mode) in [
            (secret.clone(), 0o644),
            (String::from("5ec2e7"), 0o600),
            (format!("{secret} {secret}"), 0o600),
            (secret.repeat(20), 0o600),
            (secret.repeat(100), 0o600),
            (String::new(), 0o600),
        ] {
            fs::remove_file(&path).unwrap();
            write(&text, mode);
            let failure = format!("{:?}", read_secret(&path).unwrap_err());
            assert!(!failure.contains("5ec2e7"), "{failure}");
        }
        fs::remove_file(&path).unwrap();
    }
}
