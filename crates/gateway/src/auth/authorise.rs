//! Authorisation: the only place that decides who may do what.

use headwater_protocol::SessionId;
use headwater_protocol::conversation::ConversationId;
use headwater_store::{Role, SessionRole};

use super::Identity;
use super::scope::out_of_scope;
use crate::error::ApiError;

/// The right that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Need {
    /// Read something.
    Read,
    /// Start, change or end something.
    Write,
    /// What only the owner may do: remove it, and share it.
    Own,
    /// Operate the server itself.
    Admin,
}

/// Who may use an object: its owner, and the members of its session or conversation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whose<'a> {
    /// The owner of the object.
    pub(crate) owner: &'a str,
    /// The session that the object is in.
    pub(crate) session: Option<SessionId>,
    /// The conversation of a person that the object is, or belongs to.
    pub(crate) conversation: Option<&'a ConversationId>,
    /// The role of the caller in that session or conversation, if the caller is a member and not the owner.
    pub(crate) shared: Option<SessionRole>,
}

impl<'a> Whose<'a> {
    /// An object that is in no session and no conversation.
    pub(crate) fn of(owner: &'a str) -> Self {
        Self { owner, session: None, conversation: None, shared: None }
    }
}

/// Whether `who` may do something that concerns no existing object: create, list, operate the server.
pub(crate) fn authorise(who: &Identity, need: Need) -> Result<(), ApiError> {
    decide(who, need, None)
}

/// Whether `who` may read the metrics of the whole server: an operator. Their token may be restricted to the scope
/// `metrics:read`, so that a program that collects metrics gets a token that can do nothing else.
pub(crate) fn authorise_metrics(who: &Identity) -> Result<(), ApiError> {
    if who.bounds.scopes.is_none() {
        return authorise(who, Need::Admin);
    }
    authorise(who, Need::Read)?;
    if who.role != Role::Admin || who.bounds.sessions.is_some() {
        return Err(operators_only());
    }
    Ok(())
}

fn operators_only() -> ApiError {
    ApiError::forbidden(
        "only operators may do this",
        "use a token of the role `admin`: `headwater token create --role admin`",
    )
}

/// Whether `who` may use an object. Objects of other users look as if they did not exist, so `missing` is the error.
pub(crate) fn authorise_on(
    who: &Identity,
    need: Need,
    whose: Whose<'_>,
    missing: impl FnOnce() -> ApiError,
) -> Result<(), ApiError> {
    let outside = match (&who.bounds.conversation, who.bounds.sessions.as_deref()) {
        (Some(only), _) => whose.conversation != Some(only),
        (None, Some(only)) => !whose.session.is_some_and(|id| only.contains(&id)),
        (None, None) => false,
    };
    if outside || (!is_owner(who, whose) && whose.shared.is_none()) {
        return Err(missing());
    }
    decide(who, need, Some(whose))
}

/// Whether `who` has the rights of the owner.
pub(super) fn is_owner(who: &Identity, whose: Whose<'_>) -> bool {
    whose.owner == who.owner || who.role == Role::Admin
}

/// The decision, for objects that the caller may know of.
fn decide(who: &Identity, need: Need, whose: Option<Whose<'_>>) -> Result<(), ApiError> {
    let shared = whose.filter(|whose| !is_owner(who, *whose)).and_then(|whose| whose.shared);
    if !who.bounds.allows(need) {
        return Err(out_of_scope(who.bounds.area, need));
    }
    let is_bound = who.bounds.sessions.is_some() || who.bounds.conversation.is_some();
    let is_narrow = is_bound && (whose.is_none() || need >= Need::Own);
    match (need, who.role) {
        (Need::Read, _) => Ok(()),
        (Need::Admin, role) if role != Role::Admin || is_narrow || who.bounds.scopes.is_some() => {
            Err(operators_only())
        }
        (_, Role::Reader) => Err(ApiError::forbidden(
            "this token may only read",
            "use a token of the role `member`: `headwater token create --role member`",
        )),
        (_, _) if is_narrow => Err(ApiError::forbidden(
            "this token may only use certain sessions",
            "use a token that is not bound to sessions",
        )),
        (Need::Write, _) if shared == Some(SessionRole::Viewer) => {
            let message = format!("you may only read this {}", whose_kind(whose));
            Err(ApiError::forbidden(message, "ask its owner for the role `editor`"))
        }
        (Need::Own, _) if shared.is_some() => {
            let message = format!("only the owner of the {} may do this", whose_kind(whose));
            Err(ApiError::forbidden(message, "ask its owner"))
        }
        _ => Ok(()),
    }
}

/// What is shared.
fn whose_kind(whose: Option<Whose<'_>>) -> &'static str {
    if whose.is_some_and(|whose| whose.conversation.is_some()) { "conversation" } else { "session" }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::auth::{Area, Bounds, Credential, Grants, Scope};

    fn who(owner: &str, role: Role) -> Identity {
        Identity {
            owner: owner.into(),
            role,
            token_id: "tok_x".into(),
            address: Ipv4Addr::LOCALHOST.into(),
            credential: Credential::Token([0; 32]),
            bounds: Bounds::default(),
            grants: Grants::default(),
        }
    }

    fn status(who: &Identity, need: Need, whose: Option<Whose<'_>>) -> u16 {
        let missing = || ApiError::not_found("session", "ses_x");
        let allowed = match whose {
            Some(whose) => authorise_on(who, need, whose, missing),
            None => authorise(who, need),
        };
        allowed.map_or_else(|error| error.status.as_u16(), |()| 200)
    }

    const NEEDS: [Need; 4] = [Need::Read, Need::Write, Need::Own, Need::Admin];

    #[test]
    fn roles_and_ownership_decide_access() {
        use SessionRole::{Editor, Viewer};
        let table = [
            (Role::Admin, "ann", None, [200, 200, 200, 200]),
            (Role::Admin, "bob", None, [200, 200, 200, 200]),
            (Role::Member, "ann", None, [200, 200, 200, 403]),
            (Role::Member, "bob", None, [404, 404, 404, 404]),
            (Role::Member, "bob", Some(Viewer), [200, 403, 403, 403]),
            (Role::Member, "bob", Some(Editor), [200, 200, 403, 403]),
            (Role::Reader, "ann", None, [200, 403, 403, 403]),
            (Role::Reader, "bob", None, [404, 404, 404, 404]),
            (Role::Reader, "bob", Some(Editor), [200, 403, 403, 403]),
        ];
        for (role, owner, shared, expected) in table {
            let ann = who("ann", role);
            let whose = Whose { shared, ..Whose::of(owner) };
            let got = NEEDS.map(|need| status(&ann, need, Some(whose)));
            assert_eq!(got, expected, "{role} of ann, thing of {owner}, shared as {shared:?}");
        }
        assert_eq!(status(&who("ann", Role::Reader), Need::Write, None), 403);
        assert_eq!(status(&who("ann", Role::Member), Need::Write, None), 200);
    }

    #[test]
    fn a_token_for_certain_sessions_is_for_no_others_and_makes_none() {
        let (inside, outside) = (SessionId::random(), SessionId::random());
        for role in [Role::Admin, Role::Member] {
            let mut ann = who("ann", role);
            ann.bounds.sessions = Some([inside].into());
            let at = |session| Some(Whose { session, ..Whose::of("ann") });
            assert_eq!(NEEDS.map(|need| status(&ann, need, at(Some(inside)))), [200, 200, 403, 403]);
            assert_eq!(NEEDS.map(|need| status(&ann, need, at(Some(outside)))), [404; 4]);
            assert_eq!(NEEDS.map(|need| status(&ann, need, at(None))), [404; 4]);
            assert_eq!(NEEDS.map(|need| status(&ann, need, None)), [200, 403, 403, 403]);
        }
    }

    #[test]
    fn a_link_to_a_conversation_is_for_nothing_else() {
        let (inside, outside): (ConversationId, ConversationId) =
            ("in".parse().unwrap(), "out".parse().unwrap());
        let mut link = who("link:shr_x", Role::Member);
        link.bounds.sessions = Some([].into());
        link.bounds.conversation = Some(inside.clone());
        let shared = Some(SessionRole::Editor);
        let at = |conversation| Some(Whose { conversation, shared, ..Whose::of("ann") });
        assert_eq!(NEEDS.map(|need| status(&link, need, at(Some(&inside)))), [200, 200, 403, 403]);
        assert_eq!(NEEDS.map(|need| status(&link, need, at(Some(&outside)))), [404; 4]);
        let session = Some(Whose { session: Some(SessionId::random()), shared, ..Whose::of("ann") });
        assert_eq!(NEEDS.map(|need| status(&link, need, session)), [404; 4]);
        assert_eq!(NEEDS.map(|need| status(&link, need, None)), [200, 403, 403, 403]);
    }

    #[test]
    fn only_operators_read_metrics_and_a_scope_for_metrics_is_enough() {
        let status = |role, scope: Option<&str>| {
            let mut ann = who("ann", role);
            ann.bounds.area = Area::Metrics;
            ann.bounds.scopes = scope.map(|scope| [scope.parse::<Scope>().unwrap()].into());
            authorise_metrics(&ann).map_or_else(|error| error.status.as_u16(), |()| 200)
        };
        for (role, scope, expected) in [
            (Role::Admin, None, 200),
            (Role::Admin, Some("metrics:read"), 200),
            (Role::Admin, Some("tokens:write"), 403),
            (Role::Member, None, 403),
            (Role::Member, Some("metrics:read"), 403),
            (Role::Reader, Some("metrics:read"), 403),
        ] {
            assert_eq!(status(role, scope), expected, "{role} {scope:?}");
        }
    }

    #[test]
    fn a_scope_bounds_what_the_role_would_allow() {
        let mut ann = who("ann", Role::Admin);
        ann.bounds.scopes = Some(["files:read".parse::<Scope>().unwrap()].into());
        for (area, expected) in
            [(Area::Files, [200, 403, 403, 403]), (Area::Executions, [403; 4]), (Area::Other, [403; 4])]
        {
            ann.bounds.area = area;
            let got = NEEDS.map(|need| status(&ann, need, Some(Whose::of("ann"))));
            assert_eq!(got, expected, "{area:?}");
        }
    }
}
