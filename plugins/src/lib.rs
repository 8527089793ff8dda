//! gateway-plugins
