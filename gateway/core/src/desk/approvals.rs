//! Approvals: listing them, and deciding.
