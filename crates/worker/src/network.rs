//! What a session reaches of the network: the filtering proxy and the mirror of package registries.
