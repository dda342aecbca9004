//! The words of `headwater user`.

use clap::{Args, Subcommand};

use super::serve::RoleArg;

/// `headwater user`.
#[derive(Debug, Args)]
pub struct UserArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: UserAction,
}

/// What to do with users.
#[derive(Debug, Subcommand)]
pub enum UserAction {
    /// Make a user; the password is asked for, or read from standard input
    Add {
        /// Letters, digits and `._@+-`; case does not matter
        name: String,
        /// The most that the user may do
        #[arg(long, default_value = "member")]
        role: RoleArg,
        /// No password: the user has tokens only
        #[arg(long)]
        no_password: bool,
        /// The user is to have the sessions that belong to its name already, of a deleted user for one
        #[arg(long)]
        take_over: bool,
    },
    /// List users
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Set a password: it is asked for, or read from standard input; all sign-ins of the user end
    Password {
        /// Whose
        name: String,
    },
    /// Refuse a user and all its tokens, within a second
    Disable {
        /// Whom
        name: String,
    },
    /// Take a user again that was disabled
    Enable {
        /// Whom
        name: String,
    },
}
