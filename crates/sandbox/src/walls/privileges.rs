//! Dropping all capabilities, irreversibly.

use rustix::io::Errno;
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::failure::{OrWall, Wall};
use crate::wire::WallFailure;

/// Above every capability of any kernel; the kernel reports where its own end.
const CAPABILITIES_END: libc::c_ulong = 64;

/// Drops every capability in the namespace that this process owns, and locks the ways to regain them.
pub(super) fn drop_all() -> Result<(), WallFailure> {
    rustix::thread::clear_ambient_capability_set().or_wall(Wall::Privileges, "clear ambient capabilities")?;
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(bits).or_wall(Wall::Privileges, "lock the secure bits")?;
    empty_bounding_set()?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).or_wall(Wall::Privileges, "drop capabilities")?;
    rustix::thread::set_no_new_privs(true).or_wall(Wall::Privileges, "forbid new privileges")
}

/// By number and not by name, so that capabilities newer than this code are dropped, too.
fn empty_bounding_set() -> Result<(), WallFailure> {
    for capability in 0..CAPABILITIES_END {
        // SAFETY: the call takes numbers only.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            return match super::process::last_errno() {
                Errno::INVAL if capability > 0 => Ok(()),
                errno => Err(Wall::Privileges.failed("empty the bounding set", errno)),
            };
        }
    }
    Ok(())
}
