//! What upstreams offer, and tenants' own manifests.
