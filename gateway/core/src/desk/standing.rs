//! Stopping agents, tools, upstreams and tenants, and letting them go on.
