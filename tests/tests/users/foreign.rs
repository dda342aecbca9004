//! JWTs of another issuer: its keys come from a file or an address, change, and are for one algorithm each.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http::json_of;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::accounts::{me_status, server};
use crate::forge::{now, signed};

const RSA: &str = include_str!("rsa.pem");

fn rsa() -> Result<EncodingKey> {
    Ok(EncodingKey::from_rsa_pem(RSA.as_bytes())?)
}

fn elliptic() -> Result<EncodingKey> {
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
    Ok(EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes())?)
}

/// A key as its issuer publishes it.
fn public(key: &EncodingKey, algorithm: Algorithm, kid: &str) -> Result<Value> {
    let mut jwk = serde_json::to_value(Jwk::from_encoding_key(key, algorithm)?)?;
    jwk["kid"] = kid.into();
    Ok(jwk)
}

fn config(place: &str) -> String {
    format!(
        "[auth.jwt]\nissuer = \"https://id.example\"\naudience = \"headwater\"\nrole_claim = \"roles\"\n{place}\n\
         jwks_refresh = \"1s\"\njwks_unknown_refresh = \"1s\"\n"
    )
}

fn claims(owner: &str, roles: &str) -> Result<Value> {
    let (aud, iss, exp) = ("headwater", "https://id.example", now()? + 600);
    Ok(json!({"sub": owner, "roles": [roles], "aud": aud, "iss": iss, "exp": exp, "iat": now()?}))
}

/// A server that trusts another issuer.
struct Foreign {
    server: TestServer,
    /// Where the keys are.
    folder: tempfile::TempDir,
}

impl Foreign {
    async fn new(keys: &[Value]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("keys.json");
        std::fs::write(&file, json!({ "keys": keys }).to_string())?;
        let server = server(&config(&format!("jwks_file = {:?}", file.display().to_string()))).await?;
        Ok(Self { server, folder })
    }

    fn publish(&self, keys: &[Value]) -> Result<()> {
        Ok(std::fs::write(self.folder.path().join("keys.json"), json!({ "keys": keys }).to_string())?)
    }
}

#[tokio::test]
async fn tokens_of_both_algorithms_are_accepted_with_their_owner_and_role() -> Result<()> {
    let (rsa, ec) = (rsa()?, elliptic()?);
    let foreign =
        Foreign::new(&[public(&rsa, Algorithm::RS256, "r")?, public(&ec, Algorithm::ES256, "e")?]).await?;
    for (algorithm, kid, key) in [(Algorithm::RS256, "r", &rsa), (Algorithm::ES256, "e", &ec)] {
        let token = signed(algorithm, Some(kid), &claims("olga", "reader")?, key)?;
        let api = foreign.server.api_with(&token);
        let me = json_of(&api.get("/v1/me").await?, 200)?;
        ensure!(me["owner"] == "olga" && me["role"] == "reader" && me["credential"] == "jwt", "{me}");
        let made = api.post("/v1/sessions", &json!({})).await?;
        ensure!(made.status == 403, "a reader made a session");
    }
    Ok(())
}

#[tokio::test]
async fn a_key_is_for_one_algorithm_and_a_public_key_is_not_a_secret() -> Result<()> {
    let (rsa, ec) = (rsa()?, elliptic()?);
    let jwk = public(&rsa, Algorithm::RS256, "r")?;
    let foreign = Foreign::new(&[jwk.clone(), public(&ec, Algorithm::ES256, "e")?]).await?;
    let ann = claims("ann", "admin")?;
    ensure!(
        me_status(&foreign.server.api_with(&signed(Algorithm::RS256, Some("r"), &ann, &rsa)?)).await? == 200
    );
    let modulus = jwk["n"].as_str().context("no modulus")?.to_owned();
    let with = |claim: &str, value: Value| {
        let mut other = ann.clone();
        other[claim] = value;
        signed(Algorithm::RS256, Some("r"), &other, &rsa)
    };
    for (what, token) in [
        (
            "the modulus as a secret",
            signed(Algorithm::HS256, Some("r"), &ann, &EncodingKey::from_secret(modulus.as_bytes()))?,
        ),
        (
            "the document as a secret",
            signed(Algorithm::HS256, Some("r"), &ann, &EncodingKey::from_secret(jwk.to_string().as_bytes()))?,
        ),
        ("the other key's name", signed(Algorithm::ES256, Some("r"), &ann, &ec)?),
        ("a stronger algorithm", signed(Algorithm::RS512, Some("r"), &ann, &rsa)?),
        ("another padding", signed(Algorithm::PS256, Some("r"), &ann, &rsa)?),
        ("an unknown key", signed(Algorithm::RS256, Some("x"), &ann, &rsa)?),
        ("no key", signed(Algorithm::RS256, None, &ann, &rsa)?),
        ("another issuer", with("iss", json!("https://evil.example"))?),
        ("our own issuer", with("iss", json!("headwater"))?),
        ("another audience", with("aud", json!("elsewhere"))?),
        ("expired", with("exp", json!(now()? - 600))?),
        ("not yet", with("nbf", json!(now()? + 600))?),
        ("no role", with("roles", json!([]))?),
        ("an unknown role", with("roles", json!(["superuser"]))?),
        ("nobody", with("sub", json!(""))?),
        ("a link", with("sub", json!("link:shr_1"))?),
    ] {
        let status = me_status(&foreign.server.api_with(&token)).await?;
        ensure!(status == 401, "{what}: {status}");
    }
    let first = signed(Algorithm::RS256, Some("r"), &claims("admin", "member")?, &rsa)?;
    ensure!(
        me_status(&foreign.server.api_with(&first)).await? == 401,
        "a stranger has the first token's things"
    );
    Ok(())
}

#[tokio::test]
async fn a_new_key_is_taken_and_an_old_one_is_not_when_its_issuer_says_so() -> Result<()> {
    let (old, new) = (elliptic()?, elliptic()?);
    let foreign = Foreign::new(&[public(&old, Algorithm::ES256, "old")?]).await?;
    let by_old = signed(Algorithm::ES256, Some("old"), &claims("ann", "member")?, &old)?;
    let by_new = signed(Algorithm::ES256, Some("new"), &claims("ann", "member")?, &new)?;
    ensure!(
        me_status(&foreign.server.api_with(&by_old)).await? == 200
            && me_status(&foreign.server.api_with(&by_new)).await? == 401
    );
    foreign.publish(&[public(&new, Algorithm::ES256, "new")?])?;
    let is = async |token: &str, status: u16| {
        me_status(&foreign.server.api_with(token)).await.is_ok_and(|got| got == status)
    };
    eventually("the new key is taken", async || is(&by_new, 200).await).await?;
    eventually("the old key is refused", async || is(&by_old, 401).await).await?;
    std::fs::write(foreign.folder.path().join("keys.json"), "nonsense")?;
    for _ in 0..3 {
        ensure!(is(&by_new, 200).await, "keys that cannot be read took away those that were there");
    }
    Ok(())
}

/// Serves keys and counts the requests.
async fn issuer(keys: Arc<Mutex<Value>>, asked: Arc<AtomicUsize>) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            asked.fetch_add(1, Ordering::Relaxed);
            let body = keys.lock().map(|keys| keys.to_string()).unwrap_or_default();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    Ok(format!("http://{address}/keys"))
}

#[tokio::test]
async fn keys_of_an_address_are_asked_for_seldom_and_signing_out_is_remembered() -> Result<()> {
    let key = elliptic()?;
    let keys = Arc::new(Mutex::new(json!({"keys": [public(&key, Algorithm::ES256, "k")?]})));
    let asked = Arc::new(AtomicUsize::new(0));
    let url = issuer(Arc::clone(&keys), Arc::clone(&asked)).await?;
    let config = config(&format!("jwks_url = \"{url}\"")).replace("\"1s\"", "\"1h\"");
    let server = server(&config).await?;
    let token = signed(Algorithm::ES256, Some("k"), &claims("ann", "member")?, &key)?;
    ensure!(me_status(&server.api_with(&token)).await? == 200);
    for number in 0..20 {
        let unknown = signed(Algorithm::ES256, Some(&format!("x{number}")), &claims("ann", "member")?, &key)?;
        ensure!(me_status(&server.api_with(&unknown)).await? == 401);
    }
    ensure!(
        asked.load(Ordering::Relaxed) == 1,
        "the issuer was asked {} times",
        asked.load(Ordering::Relaxed)
    );
    json_of(&server.api_with(&token).post("/v1/logout", &Value::Null).await?, 204)?;
    ensure!(me_status(&server.api_with(&token)).await? == 401, "it was signed out");
    Ok(())
}
