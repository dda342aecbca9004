//! The arguments of `headwater user`.

use clap::{Args, Subcommand};

use super::serve::RoleArg;

/// `headwater user`.
#[derive(Debug, Args)]
pub struct UserArgs {
    /// The action.
    #[command(subcommand)]
    pub action: UserAction,
}

/// Actions on users.
#[derive(Debug, Subcommand)]
pub enum UserAction {
    /// Create a user; prompts for the password, or reads it from standard input
    Add {
        /// User name: letters, digits and `._@+-`, case-insensitive
        name: String,
        /// Role, which limits what the user and its tokens may do
        #[arg(long, default_value = "member")]
        role: RoleArg,
        /// Create the user without a password; it can use tokens only
        #[arg(long)]
        no_password: bool,
        /// Give the user the sessions that its name already owns, for example those of a deleted user
        #[arg(long)]
        take_over: bool,
    },
    /// List users
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Set a password (prompts, or reads standard input) and sign the user out everywhere
    Password {
        /// User name
        name: String,
    },
    /// Disable a user and all its tokens, within a second
    Disable {
        /// User name
        name: String,
    },
    /// Enable a user that was disabled
    Enable {
        /// User name
        name: String,
    },
}
