"""The hashes of a pack, recomputed with nothing but a standard library: prints the root, or says what is wrong."""

import hashlib
import json
import pathlib
import sys


def sha256(data: bytes) -> dict:
    return {"algorithm": "sha256", "value": hashlib.sha256(data).hexdigest()}


def canonical(value) -> bytes:
    # Paths and digests are plain ASCII, for which this is RFC 8785.
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


directory = pathlib.Path(sys.argv[1])
manifest = json.loads((directory / "manifest.json").read_text())
listed = manifest["integrity"]["file_hashes"]
for entry in listed:
    found = sha256((directory / entry["path"]).read_bytes())
    if found != entry["hash"]:
        sys.exit(f"{entry['path']}: {found['value']}")
if [a["hash"] for a in manifest["artifacts"]] != [f["hash"] for f in listed]:
    sys.exit("artifacts and file_hashes differ")
root = sha256(canonical(listed))
if root != manifest["integrity"]["root_hash"]:
    sys.exit(f"root: {root['value']}")
spec = json.loads((directory / "scenario_spec.json").read_text())
if sha256(canonical(spec)) != manifest["spec_hash"]:
    sys.exit("spec_hash")
print(root["value"])
