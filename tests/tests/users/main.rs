//! Users and credentials: passwords, JWTs, cookies, CORS, scoped tokens, members and links, and what ends with them.

mod accounts;
mod bodies;
mod browsers;
mod foreign;
mod forge;
mod jwt;
mod oauth;
mod proxies;
mod revoked;
mod shares;
mod sign_in;
mod tickets;
mod tokens;
