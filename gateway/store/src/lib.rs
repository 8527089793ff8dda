//! gateway-store
