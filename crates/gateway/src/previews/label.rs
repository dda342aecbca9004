//! The host name of a preview: which port of which session, until when, and the signature of this server.
//!
//! A name in DNS has at most 63 characters, so the fields are binary and the signature is cut to 128 bits.

use data_encoding::BASE32_DNSSEC;
use headwater_protocol::SessionId;

use crate::auth::Jwts;
use crate::error::ApiError;

/// Session, port and time, without the signature.
const FIELD_BYTES: usize = 16 + 2 + 4;
const SIGNATURE_BYTES: usize = 16;
/// Distinguishes these signatures from those of JWTs, whose messages have no space.
const PURPOSE: &[u8] = b"headwater preview ";

/// A port of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) session: SessionId,
    pub(crate) port: u16,
}

/// Why the name of a preview is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// This server has not signed it.
    Unknown,
    /// Its time is over.
    Expired,
}

/// The label for this target until `expires_at`, in Unix seconds.
pub(crate) fn make(jwts: &Jwts, target: Target, expires_at: u64) -> Result<String, ApiError> {
    let mut bytes = [0; FIELD_BYTES + SIGNATURE_BYTES];
    let (fields, signature) = bytes.split_at_mut(FIELD_BYTES);
    fields[..16].copy_from_slice(&target.session.bits().to_be_bytes());
    fields[16..18].copy_from_slice(&target.port.to_be_bytes());
    fields[18..].copy_from_slice(&u32::try_from(expires_at).unwrap_or(u32::MAX).to_be_bytes());
    signature.copy_from_slice(&sign(jwts, fields)?);
    Ok(BASE32_DNSSEC.encode(&bytes))
}

/// What a label names. `None` if it does not have the form of one.
pub(crate) fn parse(jwts: &Jwts, label: &str, now: u64) -> Option<Result<Target, Refused>> {
    let bytes = BASE32_DNSSEC.decode(label.as_bytes()).ok()?;
    let bytes: [u8; FIELD_BYTES + SIGNATURE_BYTES] = bytes.try_into().ok()?;
    let (fields, signature) = bytes.split_at(FIELD_BYTES);
    let Ok(expected) = sign(jwts, fields) else { return Some(Err(Refused::Unknown)) };
    // Compares all bytes, whatever the first ones are, so that the time shows nothing.
    let difference = expected.iter().zip(signature).fold(0, |all, (one, other)| all | (one ^ other));
    if difference != 0 {
        return Some(Err(Refused::Unknown));
    }
    let number =
        |from: usize, to: usize| fields[from..to].iter().fold(0_u128, |n, byte| (n << 8) | u128::from(*byte));
    if u64::try_from(number(18, 22)).unwrap_or(0) <= now {
        return Some(Err(Refused::Expired));
    }
    let session = format!("ses_{:032x}", number(0, 16)).parse().ok()?;
    let port = u16::try_from(number(16, 18)).ok()?;
    Some(Ok(Target { session, port }))
}

fn sign(jwts: &Jwts, fields: &[u8]) -> Result<[u8; SIGNATURE_BYTES], ApiError> {
    let whole = jwts.sign(&[PURPOSE, fields].concat())?;
    let mut signature = [0; SIGNATURE_BYTES];
    for (byte, signed) in signature.iter_mut().zip(whole) {
        *byte = signed;
    }
    Ok(signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AuthConfig;

    fn jwts(folder: &tempfile::TempDir) -> Jwts {
        Jwts::new(&folder.path().join("jwt.key"), &AuthConfig::default()).unwrap()
    }

    #[test]
    fn a_label_names_its_target_until_it_expires_and_over_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let target = Target { session: SessionId::random(), port: 8000 };
        let label = make(&jwts(&folder), target, 1_000).unwrap();
        assert!(label.len() <= 63 && label.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{label}");
        let again = jwts(&folder);
        assert_eq!(parse(&again, &label, 999), Some(Ok(target)));
        assert_eq!(parse(&again, &label.to_uppercase(), 999), Some(Ok(target)), "names have no case");
        assert_eq!(parse(&again, &label, 1_000), Some(Err(Refused::Expired)));
    }

    #[test]
    fn a_label_that_is_changed_anywhere_is_refused() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = Target { session: SessionId::random(), port: 8000 };
        let label = make(&jwts(&folder), target, 1_000).unwrap();
        assert_eq!(parse(&jwts(&other), &label, 1), Some(Err(Refused::Unknown)), "of another server");
        for at in 0..label.len() {
            let mut changed = label.clone().into_bytes();
            changed[at] = if changed[at] == b'a' { b'b' } else { b'a' };
            let parsed = parse(&jwts(&folder), std::str::from_utf8(&changed).unwrap(), 1);
            // The last character has spare bits, which must be zero.
            assert!(matches!(parsed, None | Some(Err(Refused::Unknown))), "{at}");
        }
        for text in ["", "www", "preview", &label[1..], &format!("{label}0")] {
            assert_eq!(parse(&jwts(&folder), text, 1), None, "{text}");
        }
    }
}
