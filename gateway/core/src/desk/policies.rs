//! Tenants' policies: adding, listing, changing what their word is worth.
