//! gateway-upstream
