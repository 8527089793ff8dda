//! gateway-console
