//! The state that a call expects of a path.

use headwater_contract::v1;
use headwater_workspace::Expect;

/// From the contract; absent means no condition.
pub(crate) fn expectation(expect: Option<v1::Expectation>) -> Expect {
    match expect.unwrap_or_default() {
        v1::Expectation { nothing: true, .. } => Expect::Nothing,
        v1::Expectation { something: true, .. } => Expect::Something,
        v1::Expectation { etags, .. } if etags.is_empty() => Expect::Anything,
        v1::Expectation { etags, .. } => Expect::Tags(etags),
    }
}
