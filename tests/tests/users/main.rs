//! Users and the front door: passwords, JWTs, cookies, CORS, scoped tokens, members and links, and what ends with them.

mod bodies;
mod browsers;
mod craft;
mod foreign;
mod ground;
mod jwt;
mod proxies;
mod revoked;
mod shares;
mod sign_in;
mod tickets;
mod tokens;
