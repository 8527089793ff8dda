//! How calls ended, counted alike by both engines.

/// Columns over `audit_logs a`. What waits, was broken off or never got so far is in none of them.
macro_rules! outcomes {
    () => {
        "count(*) FILTER (WHERE a.status_code = 'ok') AS ok, count(*) FILTER (WHERE a.status_code = 'denied') AS denied, \
         count(*) FILTER (WHERE a.status_code IN ('tool_error', 'rpc_error', 'upstream_failed', 'gateway_failed')) AS errors"
    };
}
