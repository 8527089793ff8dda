"""Labels PostgreSQL's own regression statements on a real server, to hold what `portreeve guard sql` says of the lines against them.

    label.py REGRESS SERVER > statements.jsonl

REGRESS is `src/test/regress` of PostgreSQL's sources (Debian: `apt-get source postgresql-15`), SERVER a superuser's URL of a
server that may be ruined. Each file is run by psql in the order of the schedule; before a statement is run it is tried in a
READ ONLY transaction: what the server refuses there (25006) or what is no query is a write, what works is a read, and what
fails in another way is left out. A query that calls what the suite itself has made is `own`: by default such functions are
refused, whatever they do. Nothing of PostgreSQL's is kept here.
"""
import json
import os
import re
import subprocess
import sys

QUERIES = {"select", "with", "values", "table", "explain", "show"}
# Queries that change something though the server lets them pass: locks, settings, messages, large objects, statistics.
ACTS = re.compile(
    r"\b(pg_(try_)?advisory\w*|set_config|setseed|pg_notify|lo_\w+|loread|lowrite|pg_stat_reset\w*|pg_terminate_backend|pg_sleep\w*"
    r"|pg_cancel_backend|pg_reload_conf|pg_rotate_logfile\w*|pg_switch_wal|pg_create_\w+|pg_drop_\w+|pg_log_\w+|dblink\w*"
    r"|pg_logical_\w+|pg_replication_\w+|pg_promote|pg_read_\w+|pg_ls_\w+|pg_stat_file|query_to_xml\w*|cursor_to_xml\w*"
    r"|pg_import_system_collations|pg_export_snapshot|txid_current|pg_current_xact_id|pg_stat_force_next_flush)\s*\(", re.I)
INTO = re.compile(r"\binto\s+(temp|temporary|unlogged|table|\w)", re.I)


def pieces(text):
    """Statements and psql's own commands, in order: (kind, text)."""
    at, start, depth, out = 0, 0, 0, []
    while at < len(text):
        rest = text[at:at + 2]
        char = text[at]
        if rest == "--":
            at = text.find("\n", at)
            at = len(text) if at < 0 else at
        elif rest == "/*":
            level, at = 1, at + 2
            while at < len(text) and level:
                if text[at:at + 2] == "/*":
                    level, at = level + 1, at + 2
                elif text[at:at + 2] == "*/":
                    level, at = level - 1, at + 2
                else:
                    at += 1
        elif char in "'\"":
            escapes = char == "'" and at > 0 and text[at - 1] in "eE" and not (at > 1 and (text[at - 2].isalnum() or text[at - 2] == "_"))
            at += 1
            while at < len(text):
                if escapes and text[at] == "\\":
                    at += 2
                elif text[at] == char:
                    at += 1
                    if text[at:at + 1] != char:
                        break
                    at += 1
                else:
                    at += 1
        elif char == "$" and (tag := re.match(r"\$([A-Za-z_]\w*)?\$", text[at:])) and not (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
            end = text.find(tag.group(0), at + len(tag.group(0)))
            at = len(text) if end < 0 else end + len(tag.group(0))
        elif char == "\\":
            # A command of psql's: to the end of the line, with the statement it belongs to.
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            line = text[at:end]
            if re.match(r"\\\.", line):
                at = end
                continue
            out.append(("psql", text[start:end]))
            start = at = end
            depth = 0
        elif char == "(":
            depth, at = depth + 1, at + 1
        elif char == ")":
            depth, at = max(depth - 1, 0), at + 1
        elif char == ";" and depth == 0:
            if re.search(r"\bbegin\s+atomic\b", text[start:at], re.I) and not re.search(r"\bend\s*$", text[start:at], re.I):
                at += 1
                continue
            statement = text[start:at]
            at += 1
            if re.match(r"(?is)\s*(--[^\n]*\n\s*)*copy\b.*\bfrom\s+stdin", statement):
                # What follows is data.
                end = text.find("\n\\.", at)
                end = len(text) if end < 0 else end + 3
                out.append(("psql", text[start:end]))
                at = end
            else:
                out.append(("sql", statement))
            start = at
        else:
            at += 1
    out.append(("psql", text[start:]))
    return out


def bare(statement):
    """Without comments and strings."""
    text = re.sub(r"'[^']*'", "''", re.sub(r"--[^\n]*", " ", statement))
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def first_word(statement):
    found = re.match(r"[\s(]*([A-Za-z]+)", bare(statement))
    return found.group(1).lower() if found else ""


def script(text):
    """What psql runs, and the statements that were tried in it."""
    lines, tried, inside = [], [], False
    for kind, piece in pieces(text):
        word = first_word(piece)
        if kind == "sql" and not inside and word and word not in ("begin", "start", "commit", "rollback", "abort", "end", "savepoint", "release", "prepare"):
            lines += ["BEGIN READ ONLY;", piece + ";", f"\\echo @@{len(tried)} :SQLSTATE", "ROLLBACK;"]
            tried.append(piece.strip())
        if kind == "sql" and word in ("begin", "start"):
            inside = True
        if kind == "sql" and word in ("commit", "rollback", "abort", "end") and not re.search(r"\b(to|prepared)\b", piece, re.I):
            inside = False
        lines.append(piece + ";" if kind == "sql" else piece)
    return "\n".join(lines), tried


def made(text):
    """The functions and operators that a file makes."""
    name = r"(?:\w+\.)?(\w+)"
    functions = set(re.findall(rf"create\s+(?:or\s+replace\s+)?(?:function|aggregate|procedure)\s+{name}", text, re.I))
    for ranged in re.findall(rf"create\s+type\s+{name}\s+as\s+range", text, re.I):
        functions |= {ranged, ranged.replace("range", "multirange")}
    functions |= set(re.findall(r"multirange_type_name\s*=\s*(?:\w+\.)?(\w+)", text, re.I))
    operators = set(re.findall(r"create\s+operator\s+(?:\w+\.)?([-+*/<>=~!@#%^&|`?]+)", text, re.I))
    return {each.lower() for each in functions}, operators


def calls_own(statement, own):
    functions, operators = own
    text = bare(statement).lower()
    return any(name in functions for name in re.findall(r"(\w+)\s*\(", text)) or any(
        name in operators for name in re.findall(r"[-+*/<>=~!@#%^&|`?]+", text))


def label(statement, state):
    word = first_word(statement)
    if not statement.strip() or re.search(r"(?<![:\w]):['\"\w]", bare(statement)):
        return None
    if state == "25006":
        return "write"
    if state != "00000":
        return None
    if word not in QUERIES or ACTS.search(bare(statement)):
        return "write"
    if INTO.search(bare(statement)) and word != "explain":
        return "write"
    return "read"


def main():
    regress, server = os.path.abspath(sys.argv[1]), sys.argv[2]
    names = []
    for line in open(f"{regress}/parallel_schedule"):
        if line.startswith("test:"):
            names += line.split(":", 1)[1].split()
    environment = {**os.environ, "PG_ABS_SRCDIR": regress, "PG_ABS_BUILDDIR": "/tmp", "PG_LIBDIR": "/usr/lib/postgresql/15/lib",
                   "PG_DLSUFFIX": ".so", "PGTZ": "PST8PDT", "PGDATESTYLE": "Postgres, MDY",
                   "PGOPTIONS": "-c statement_timeout=5s -c lock_timeout=2s -c intervalstyle=postgres_verbose"}
    seen, own = set(), (set(), set())
    known = subprocess.run(["psql", server, "-AtqX", "-c", "select oprname from pg_operator union select proname from pg_proc"],
                           capture_output=True, text=True, check=True).stdout.split()
    for name in names:
        source = open(f"{regress}/sql/{name}.sql", encoding="utf8", errors="replace").read()
        own = tuple(before | (new - set(known)) for before, new in zip(own, made(source)))
        text, tried = script(source)
        try:
            done = subprocess.run(["psql", server, "-Xaq"], input=text, capture_output=True, text=True, errors="replace",
                                  env=environment, timeout=300, cwd=regress)
            said = done.stdout
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode(errors="replace")
        counts = {}
        for number, state in re.findall(r"^@@(\d+) (\w+)$", said, re.M):
            statement = tried[int(number)]
            given = label(statement, state)
            if given == "read" and calls_own(statement, own):
                given = "own"
            if given and statement not in seen:
                seen.add(statement)
                counts[given] = counts.get(given, 0) + 1
                print(json.dumps({"label": given, "from": name, "sql": statement}))
        print(name, counts, file=sys.stderr)


if __name__ == "__main__":
    main()
