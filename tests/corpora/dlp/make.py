"""Writes documents with known values and decoys in them, one JSON object a line.

    python tests/corpora/dlp/make.py --documents 1000 --seed 5 > tests/corpora/dlp/documents.jsonl

Needs Faker as pinned in `tests/env/python-corpora.txt`. Even lines are for tuning, odd ones are held out.
A line is `{"id", "kind", "text", "spans": [[start, end, what, tier], ..]}`; offsets are bytes of the text. Keys that look live are not
stored: a value is written as it was made, and secret scanners on the way see random letters behind known prefixes, so the text is
stored as base64 (`"packed"`) instead of `"text"`.
"""

import argparse
import base64
import json
import random

from faker import Faker

from values import Values

LOCALES = ["en_US", "en_GB", "de_DE", "fr_FR", "es_ES", "it_IT", "pt_BR", "ja_JP", "zh_CN", "pl_PL"]
TIERS = {"card": 1, "iban": 1, "ssn": 1, "email": 1, "jwt": 1, "key": 1, "database_url": 1, "private_key": 1,
         "phone": 2, "sin": 2, "nir": 2, "ip": 2, "mac": 2, "passport": 2}
LABELS = {"card": ["card", "card_number", "pan", "payment"], "iban": ["iban", "account", "bank"], "ssn": ["ssn", "social security"],
          "email": ["email", "contact", "from"], "jwt": ["token", "session"], "key": ["api_key", "token", "secret", "note"],
          "database_url": ["DATABASE_URL", "dsn", "url"], "private_key": ["key", "tls"], "phone": ["phone", "tel", "mobile", "call"],
          "sin": ["sin", "social insurance"], "nir": ["nir", "securite sociale"], "ip": ["ip", "client", "host"],
          "mac": ["mac", "device"], "passport": ["passport", "passport_no", "passport number"]}
DECOY_LABELS = ["id", "ref", "commit", "created_at", "order", "invoice", "version", "trace", "etag", "position", "build", "image"]


class Document:
    """Text under construction, and where the values in it are."""

    def __init__(self, make):
        self.make, self.parts, self.size, self.spans = make, [], 0, []

    def say(self, text):
        self.parts.append(text)
        self.size += len(text.encode())

    def put(self, what, encode=lambda text: text):
        value = encode(getattr(self.make, what)())
        if what != "decoy":
            self.spans.append([self.size, self.size + len(value.encode()), what, TIERS[what]])
        self.say(value)

    def text(self):
        return "".join(self.parts)


def pick(r):
    return "decoy" if r.random() < 0.55 else r.choice(list(TIERS) + ["card", "email", "email", "key", "key", "key", "iban", "phone"])


def label(r, what):
    return r.choice(DECOY_LABELS if what == "decoy" else LABELS[what])


def rows(d, r, faker):
    d.say("[")
    for row in range(r.randint(2, 6)):
        d.say("," if row else "")
        d.say("{" + f'"name": {json.dumps(faker.name())}')
        for _ in range(r.randint(2, 5)):
            what = pick(r)
            d.say(f', "{label(r, what)}": "')
            d.put(what, lambda text: json.dumps(text, ensure_ascii=False)[1:-1])
            d.say('"')
        d.say("}")
    d.say("]")


def log(d, r, faker):
    for _ in range(r.randint(4, 12)):
        d.say(f"2026-11-{r.randint(1, 28):02d}T{r.randint(0, 23):02d}:{r.randint(0, 59):02d}:00Z {r.choice(['INFO', 'WARN', 'ERROR'])} ")
        d.say(f"{faker.word()} worker-{r.randint(1, 9)} ")
        for _ in range(r.randint(1, 3)):
            what = r.choice([w for w in [pick(r)] if w != "private_key"] or ["decoy"])
            d.say(f"{label(r, what).replace(' ', '_')}=")
            d.put(what)
            d.say(" ")
        d.say(f"took {r.randint(1, 999)}ms\n")


def chat(d, r, faker):
    for _ in range(r.randint(3, 8)):
        what = pick(r)
        d.say(f"{faker.first_name()}: {faker.sentence(nb_words=6)} {label(r, what)}: ")
        d.put(what)
        d.say(r.choice(["\n", " :)\n", ", thanks!\n", ".\n"] if what not in ("key", "jwt", "database_url") else ["\n", " :)\n"]))


def mail(d, r, faker):
    d.say("From: ")
    d.put("email")
    d.say("\nTo: <")
    d.put("email")
    d.say(f">\nSubject: {faker.sentence(nb_words=4)}\nMessage-Id: {r.randint(10**9, 10**10)}\n\n{faker.paragraph()}\n")
    for _ in range(r.randint(1, 4)):
        what = pick(r)
        d.say(f"{faker.sentence(nb_words=5)} {label(r, what)}: ")
        d.put(what)
        d.say("\n")


def table(d, r, faker):
    kinds = [pick(r) for _ in range(r.randint(3, 6))]
    kinds = [k if k not in ("private_key",) else "decoy" for k in kinds]
    sign = r.choice([",", ";", "\t"])
    d.say(sign.join(["name"] + [label(r, kind) for kind in kinds]) + "\n")
    for _ in range(r.randint(3, 8)):
        d.say(faker.last_name().replace(sign, " "))
        for kind in kinds:
            d.say(sign + '"')
            d.put(kind)
            d.say('"')
        d.say("\n")


def source(d, r, faker):
    d.say("# settings\nimport os\n\n")
    for _ in range(r.randint(3, 8)):
        what = pick(r)
        name = label(r, what).upper().replace(" ", "_")
        quote = r.choice(['"', "'"])
        d.say(f"{name}_{r.randint(1, 9)} = {quote}")
        d.put(what, lambda text: text.replace("\n", "\\n"))
        d.say(f"{quote}  # {faker.word()}\n")


def settings(d, r, faker):
    for _ in range(r.randint(3, 9)):
        what = pick(r)
        name = label(r, what).replace(" ", "_")
        if r.random() < 0.5 and what != "private_key":
            d.say(f"{name.upper()}=")
            d.put(what)
            d.say("\n")
        else:
            d.say(f"{name}: \"")
            d.put(what, lambda text: text.replace("\n", "\\n"))
            d.say("\"\n")


def markdown(d, r, faker):
    d.say(f"# {faker.sentence(nb_words=3)}\n\n{faker.paragraph()}\n\n")
    for _ in range(r.randint(3, 8)):
        what = pick(r)
        wrap = r.choice(["`", "**", "", '"', "("])
        d.say(f"- {label(r, what)}: {wrap}")
        d.put(what)
        d.say({"(": ")"}.get(wrap, wrap) + "\n")
    d.say(f"\n{faker.paragraph()}\n")


def dump(d, r, faker):
    for _ in range(r.randint(2, 6)):
        kinds = [pick(r) for _ in range(r.randint(2, 4))]
        kinds = [k if k != "private_key" else "email" for k in kinds]
        columns = ", ".join(label(r, kind).replace(" ", "_") for kind in kinds)
        d.say(f"INSERT INTO people (name, {columns}) VALUES ('{faker.last_name().replace(chr(39), '')}'")
        for kind in kinds:
            d.say(", '")
            d.put(kind)
            d.say("'")
        d.say(");\n")


def trace(d, r, faker):
    d.say("Traceback (most recent call last):\n")
    for _ in range(r.randint(2, 5)):
        what = pick(r)
        if what == "private_key":
            what = "decoy"
        d.say(f'  File "/srv/app/{faker.word()}.py", line {r.randint(1, 999)}, in {faker.word()}\n    {label(r, what).replace(" ", "_")}="')
        d.put(what)
        d.say('"\n')
    d.say(f"ValueError: {faker.sentence(nb_words=5)}\n")


KINDS = [rows, log, chat, mail, table, source, settings, markdown, dump, trace]


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--documents", type=int, default=1000)
    asked.add_argument("--seed", type=int, default=5)
    asked = asked.parse_args()
    r = random.Random(asked.seed)
    Faker.seed(asked.seed)
    fakers = {locale: Faker(locale) for locale in LOCALES}
    make = Values(r, [fakers[locale] for locale in LOCALES if locale[:2] not in ("ja", "zh")])
    for number in range(asked.documents):
        kind = KINDS[number // 2 % len(KINDS)]
        d = Document(make)
        kind(d, r, fakers[r.choice(LOCALES)])
        packed = base64.b64encode(d.text().encode()).decode()
        print(json.dumps({"id": number, "kind": kind.__name__, "packed": packed, "spans": d.spans}, separators=(",", ":")))


if __name__ == "__main__":
    main()
