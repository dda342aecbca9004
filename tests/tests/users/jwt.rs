//! Access tokens: only those that the server made, unchanged and in their time, are taken.

use anyhow::{Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::http::text;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::accounts::{me_status, server, user};
use crate::forge::{now, open, signed, unsigned};

/// A server with a signed-in user, and its signing key.
struct Signer {
    server: TestServer,
    token: String,
    key: EncodingKey,
    kid: String,
    claims: Value,
}

impl Signer {
    async fn new() -> Result<Self> {
        let server = server("").await?;
        let token = user(&server, "ann").await?.token().to_owned();
        let secret = std::fs::read_to_string(server.data().join("jwt.key"))?;
        let (header, claims) = open(&token)?;
        let (key, kid) = (EncodingKey::from_secret(secret.trim().as_bytes()), text(&header["kid"]));
        Ok(Self { server, token, key, kid, claims })
    }

    fn signed(&self, claims: &Value) -> Result<String> {
        signed(Algorithm::HS256, Some(&self.kid), claims, &self.key)
    }

    fn with(&self, claim: &str, value: Value) -> Result<String> {
        let mut claims = self.claims.clone();
        claims[claim] = value;
        self.signed(&claims)
    }

    fn without(&self, claim: &str) -> Result<String> {
        let mut claims = self.claims.clone();
        claims.as_object_mut().into_iter().for_each(|claims| drop(claims.remove(claim)));
        self.signed(&claims)
    }
}

#[tokio::test]
async fn an_access_token_has_all_standard_claims() -> Result<()> {
    let signer = Signer::new().await?;
    for claim in ["sub", "iat", "exp", "aud", "iss", "jti", "role"] {
        ensure!(!signer.claims[claim].is_null(), "no `{claim}`: {}", signer.claims);
    }
    let me = signer.server.api_with(&signer.token).json("/v1/me").await?;
    ensure!(me["owner"] == "ann" && me["role"] == "member" && me["credential"] == "sign_in", "{me}");
    ensure!(me["user"]["id"] == signer.claims["sub"], "{me}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(signer.server.data().join("jwt.key"))?.permissions(),
    );
    ensure!(mode & 0o777 == 0o600, "others can read the secret: {mode:o}");
    Ok(())
}

#[tokio::test]
async fn an_expired_token_or_one_for_another_audience_is_refused() -> Result<()> {
    let signer = Signer::new().await?;
    // The control: what the test signs is taken, so each refusal below is for the one thing that differs.
    ensure!(
        me_status(&signer.server.api_with(&signer.signed(&signer.claims)?)).await? == 200,
        "the test cannot sign"
    );
    let now = now()?;
    for (what, token) in [
        ("expired", signer.with("exp", json!(now - 60))?),
        ("not yet", signer.with("nbf", json!(now + 600))?),
        ("another audience", signer.with("aud", json!("elsewhere"))?),
        ("another issuer", signer.with("iss", json!("elsewhere"))?),
        ("another sign-in", signer.with("sid", json!("sgn_00000000000000000000000000000000"))?),
        ("no end", signer.without("exp")?),
        ("no audience", signer.without("aud")?),
        ("no issuer", signer.without("iss")?),
        ("no subject", signer.without("sub")?),
        ("an end that is text", signer.with("exp", json!("never"))?),
    ] {
        let status = me_status(&signer.server.api_with(&token)).await?;
        ensure!(status == 401, "{what}: {status}");
    }
    Ok(())
}

#[tokio::test]
async fn a_token_does_not_choose_how_it_is_checked() -> Result<()> {
    let signer = Signer::new().await?;
    let (claims, kid, key) = (&signer.claims, Some(signer.kid.as_str()), &signer.key);
    let none = |alg: &str| unsigned(&json!({"alg": alg, "typ": "JWT", "kid": signer.kid}), claims, "");
    let (head, signature) = signer.token.rsplit_once('.').unwrap_or_default();
    let (_, mut raised) = open(&signer.token)?;
    raised["role"] = json!("admin");
    let raised = unsigned(&open(&signer.token)?.0, &raised, signature);
    for (what, token) in [
        ("alg none", none("none")),
        ("alg None", none("None")),
        ("an unknown alg", none("HS1")),
        ("another alg", signed(Algorithm::HS384, kid, claims, key)?),
        ("another alg still", signed(Algorithm::HS512, kid, claims, key)?),
        ("no kid", signed(Algorithm::HS256, None, claims, key)?),
        ("an unknown kid", signed(Algorithm::HS256, Some("elsewhere"), claims, key)?),
        ("another secret", signed(Algorithm::HS256, kid, claims, &EncodingKey::from_secret(b"guess"))?),
        ("no signature", format!("{head}.")),
        ("half a token", head.to_owned()),
        ("changed claims", raised),
        ("only dots", "..".into()),
        ("a long one", format!("{}.{}.{}", "a".repeat(9000), "b".repeat(9000), "c".repeat(9000))),
    ] {
        let status = me_status(&signer.server.api_with(&token)).await?;
        ensure!(status == 401, "{what}: {status}");
    }
    ensure!(me_status(&signer.server.api_with(&signer.token)).await? == 200, "the real one is refused");
    Ok(())
}

#[tokio::test]
async fn access_tokens_outlive_a_gateway_that_is_killed() -> Result<()> {
    let mut signer = Signer::new().await?;
    signer.server.kill();
    signer.server.start_again().await?;
    ensure!(me_status(&signer.server.api_with(&signer.token)).await? == 200);
    Ok(())
}

#[tokio::test]
async fn a_header_that_names_what_must_be_understood_is_refused() -> Result<()> {
    let signer = Signer::new().await?;
    let with = |crit: Option<Vec<String>>| -> Result<String> {
        let header = Header { kid: Some(signer.kid.clone()), crit, ..Header::new(Algorithm::HS256) };
        Ok(encode(&header, &signer.claims, &signer.key)?)
    };
    ensure!(me_status(&signer.server.api_with(&with(None)?)).await? == 200, "the same without it is good");
    for crit in [vec!["exp".to_owned()], vec!["b64".to_owned()], Vec::new()] {
        let status = me_status(&signer.server.api_with(&with(Some(crit.clone()))?)).await?;
        ensure!(status == 401, "{crit:?}: {status}");
    }
    Ok(())
}
