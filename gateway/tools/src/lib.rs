//! gateway-tools
