#!/bin/sh
# Starts the demo, puts its tool agent in place, runs it with the payload beside it, and looks at what was delivered.
#
#   cargo build --release && PORTREEVE=target/release/portreeve config/initial-agent-building/smoke.sh
#
# Needs a POSIX shell and curl. Ends with 0 when all four tools succeeded.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
portreeve=${PORTREEVE:-portreeve}
data=$(mktemp -d)

"$portreeve" demo --data "$data/demo" --mcp 127.0.0.1:0 --console 127.0.0.1:0 >"$data/sheet" 2>"$data/log" &
gateway=$!
trap 'kill "$gateway" 2>/dev/null || true; wait "$gateway" 2>/dev/null || true; rm -rf "$data"' EXIT

failed() {
    echo "not as it should be: $1" >&2
    cat "$data/log" >&2
    exit 1
}

# The address stands in what the demo prints, which takes a moment.
tries=0
until console=$(sed -n 's/^ *console *\(http[^ ]*\).*/\1/p' "$data/sheet") && [ -n "$console" ] &&
    curl -fsS -o "$data/ready" "${console}ready" 2>"$data/curl"; do
    tries=$((tries + 1))
    [ "$tries" -le 120 ] || failed "the demo did not start"
    sleep 0.25
done
administrator=$(awk '$2 == "administrator" { print $3 }' "$data/sheet")
agent=$(awk '$1 == "demo-a3" { print $4 }' "$data/sheet")

post() {
    code=$(curl -sS -o "$data/answer" -w '%{http_code}' -H "x-api-key: $2" -H 'content-type: application/json' \
        --data @"$3" "$console$1")
    case $code in
    2??) ;;
    *) failed "$1 answered $code: $(cat "$data/answer")" ;;
    esac
}

post api/admin/agents "$administrator" "$here/working/demo_supabase_agent.json"
echo "supabase-agent is in place"

printf '{"mode":"build","payload":%s}' "$(cat "$here/working/demo_payload.json")" >"$data/request"
post api/agents/demo/supabase-agent/tasks "$agent" "$data/request"

for part in '"successfulTools":4' '"failedTools":0' '"executionMode":"sequential"' '"success":true'; do
    grep -q "$part" "$data/answer" || failed "no $part in $(cat "$data/answer")"
done
deliverable=$(sed -n 's/.*"deliverable":{"id":"\([^"]*\)".*/\1/p' "$data/answer")
curl -fsS -o "$data/deliverable" -H "x-api-key: $agent" "${console}api/deliverables/$deliverable" ||
    failed "the deliverable cannot be read"
echo "4 of 4 tools succeeded; deliverable $deliverable"
