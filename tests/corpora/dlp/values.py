"""Values to hide, with checksums that hold, and decoys that look like them and are nothing.

Nothing here is taken from anybody: numbers are random and then given the check digits their registries ask for.
"""

import base64
import json
import string

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


class Values:
    def __init__(self, random, fakers):
        self.random = random
        self.fakers = fakers

    # -- letters and digits

    def of(self, letters, count):
        return "".join(self.random.choice(letters) for _ in range(count))

    def digits(self, count):
        return self.of(string.digits, count)

    def uuid(self):
        h = self.of(HEX, 32)
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    # -- first tier

    def card(self):
        prefix, length = self.random.choice(
            [("4", 16), ("4", 16), ("4", 13), ("51", 16), ("55", 16), ("2221", 16), ("2720", 16), ("2500", 16), ("34", 15), ("37", 15),
             ("6011", 16), ("65", 16), ("36", 14), ("305", 14), ("3528", 16), ("62", 16), ("2200", 16), ("6759", 16), ("5018", 12),
             ("6304", 13), ("4", 19)])
        body = prefix + self.digits(length - len(prefix) - 1)
        number = body + luhn_digit(body)
        sign = self.random.choice(["", "", " ", "-", " ", ".", "\u00a0"])
        if not sign:
            return number
        if length in (14, 15):
            return sign.join([number[:4], number[4:10], number[10:]])
        return sign.join(number[i:i + 4] for i in range(0, length, 4))

    def iban(self):
        country, shape = self.random.choice(
            [("DE", "n18"), ("FR", "n10c11n2"), ("GB", "a4n14"), ("ES", "n20"), ("IT", "a1n10c12"), ("NL", "a4n10"), ("BE", "n12"),
             ("CH", "n5c12"), ("AT", "n16"), ("PL", "n24"), ("SE", "n20"), ("NO", "n11"), ("IE", "a4n14"), ("PT", "n21"), ("MT", "a4n5c18"),
             ("SA", "n2c18"), ("TR", "n6c16"), ("BR", "n23a1c1"), ("RO", "a4c16"), ("CZ", "n20"), ("LU", "n3c13"), ("AE", "n19")])
        bban, at = "", 0
        while at < len(shape):
            kind, end = shape[at], at + 1
            while end < len(shape) and shape[end].isdigit():
                end += 1
            letters = {"n": string.digits, "a": string.ascii_uppercase, "c": string.digits + string.ascii_uppercase}[kind]
            bban += self.of(letters, int(shape[at + 1:end]))
            at = end
        value = int("".join(str(int(c, 36)) for c in bban + country + "00"))
        text = f"{country}{98 - value % 97:02d}{bban}"
        sign = self.random.choice(["", "", " ", " ", "-"])
        if sign:
            text = sign.join(text[i:i + 4] for i in range(0, len(text), 4))
        return text.lower() if self.random.random() < 0.05 else text

    def ssn(self):
        area = self.random.choice([n for n in range(1, 900) if n != 666])
        sign = self.random.choice(["-", "-", "-", " "])
        return f"{area:03d}{sign}{self.random.randint(1, 99):02d}{sign}{self.random.randint(1, 9999):04d}"

    def email(self):
        faker = self.random.choice(self.fakers)
        kind = self.random.random()
        if kind < 0.5:
            return faker.ascii_email()
        name = faker.user_name() if faker.user_name().isascii() else "user"
        if kind < 0.7:
            return f"{name}+{self.of(string.ascii_lowercase, 4)}@{faker.domain_name()}"
        if kind < 0.9:
            return f"{name}.{self.of(string.ascii_lowercase, 6)}@mail.{self.of(string.ascii_lowercase, 7)}.co.uk"
        return f"{name}_{self.digits(2)}@{self.of(string.ascii_lowercase, 5)}-{self.of(string.ascii_lowercase, 4)}.io"

    def jwt(self):
        part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
        head = {"alg": self.random.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
        return f"{part(head)}.{part({'sub': self.digits(8), 'exp': 1763298000})}.{self.of(ALNUM + '-_', 43)}"

    def key(self):
        a, h = (lambda n: self.of(ALNUM, n)), (lambda n: self.of(HEX, n))
        base32 = lambda n: self.of(string.ascii_uppercase + "234567", n)
        return self.random.choice([
            lambda: self.random.choice(["AKIA", "ASIA"]) + base32(16),
            lambda: self.random.choice(["ghp_", "gho_", "ghs_", "ghu_"]) + a(36),
            lambda: f"github_pat_{a(22)}_{a(59)}",
            lambda: f"glpat-{a(20)}",
            lambda: f"xoxb-{self.digits(12)}-{self.digits(12)}-{a(24)}",
            lambda: f"xoxp-{self.digits(12)}-{self.digits(12)}-{self.digits(12)}-{h(32)}",
            lambda: f"https://hooks.slack.com/services/T{base32(8)}/B{base32(8)}/{a(24)}",
            lambda: f"sk_live_{a(24)}",
            lambda: f"rk_test_{a(24)}",
            lambda: f"sk-{a(48)}",
            lambda: f"sk-proj-{a(48)}",
            lambda: f"sk-ant-api03-{self.of(ALNUM + '-_', 93)}AA",
            lambda: f"AIza{self.of(ALNUM + '-_', 34)}{a(1)}",
            lambda: f"GOCSPX-{a(28)}",
            lambda: f"ya29.{self.of(ALNUM + '-_', 120)}{a(1)}",
            lambda: f"sbp_{h(40)}",
            lambda: f"sb_secret_{a(22)}_{a(8)}",
            lambda: f"ntn_{self.digits(11)}{a(35)}",
            lambda: f"secret_{a(43)}",
            lambda: f"SG.{a(22)}.{a(43)}",
            lambda: f"npm_{a(36)}",
            lambda: f"pypi-AgEIcHlwaS5vcmc{a(80)}",
            lambda: f"dop_v1_{h(64)}",
            lambda: f"hf_{self.of(string.ascii_letters, 34)}",
            lambda: f"dckr_pat_{a(27)}",
            lambda: f"SK{h(32)}",
            lambda: f"key-{h(32)}",
            lambda: f"shpat_{h(32)}",
            lambda: f"{a(3)}8Q~{a(34)}",
            lambda: f"{self.digits(10)}:AA{a(33)}",
            lambda: f"lin_api_{a(40)}",
            lambda: f"glsa_{a(32)}_{h(8)}",
            lambda: f"hvs.{a(90)}",
            lambda: f"PMAK-{h(24)}-{h(34)}",
            lambda: f"figd_{a(40)}",
            lambda: f"dapi{h(32)}",
        ])()

    def database_url(self):
        scheme = self.random.choice(["postgres", "postgresql", "mysql", "mongodb+srv", "redis", "amqp", "mariadb"])
        user = self.of(string.ascii_lowercase, 6)
        return f"{scheme}://{user}:{self.of(ALNUM + '-_!', 14)}@db{self.random.randint(1, 9)}.example.org:5432/{user}"

    def private_key(self):
        kind = self.random.choice(["RSA ", "EC ", "OPENSSH ", ""])
        lines = "\n".join(self.of(ALNUM + "+/", 64) for _ in range(4))
        return f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"

    # -- second tier

    def phone(self):
        faker = self.random.choice(self.fakers)
        r, d = self.random, self.digits
        return r.choice([
            lambda: f"+1 {r.randint(201, 989)}-{r.randint(200, 999)}-{d(4)}",
            lambda: f"({r.randint(201, 989)}) {r.randint(200, 999)}-{d(4)}",
            lambda: f"+44 20 7{d(3)} {d(4)}",
            lambda: f"+33 {r.randint(1, 9)} {d(2)} {d(2)} {d(2)} {d(2)}",
            lambda: f"0{r.randint(1, 9)} {d(2)} {d(2)} {d(2)} {d(2)}",
            lambda: f"+49 {r.randint(30, 89)} {r.randint(100000, 9999999)}",
            lambda: f"+34 6{d(2)} {d(3)} {d(3)}",
            lambda: f"+91 {r.randint(70000, 99999)} {d(5)}",
            lambda: f"+81-{r.randint(3, 9)}-{d(4)}-{d(4)}",
            lambda: f"+5511{r.randint(90000, 99999)}{d(4)}",
            lambda: f"07{r.randint(100, 999)} {d(6)}",
            lambda: f"{r.randint(201, 989)}.{r.randint(200, 999)}.{d(4)}",
        ])()

    def sin(self):
        body = str(self.random.randint(1, 7)) + self.digits(7)
        number = body + luhn_digit(body)
        return self.random.choice([" ", "-"]).join([number[:3], number[3:6], number[6:]])

    def nir(self):
        r = self.random
        body = f"{r.randint(1, 2)}{r.randint(0, 99):02d}{r.randint(1, 12):02d}{r.randint(1, 95):02d}{r.randint(1, 990):03d}{r.randint(1, 999):03d}"
        number = f"{body}{97 - int(body) % 97:02d}"
        if r.random() < 0.5:
            return number
        return " ".join([number[:1], number[1:3], number[3:5], number[5:7], number[7:10], number[10:13], number[13:]])

    def ip(self):
        r = self.random
        return r.choice([
            lambda: f"{r.randint(11, 223)}.{r.randint(20, 255)}.{r.randint(0, 255)}.{r.randint(1, 254)}",
            lambda: f"10.{r.randint(0, 255)}.{r.randint(0, 255)}.{r.randint(1, 254)}",
            lambda: f"2001:db8:{self.of(HEX, 4)}:{self.of(HEX, 4)}::{self.of(HEX, 4)}",
        ])()

    def mac(self):
        return self.random.choice([":", "-"]).join(self.of(HEX, 2) for _ in range(6))

    def passport(self):
        return self.of("CEGHJKLMNPRTVXYZ", 1) + self.digits(8)

    # -- decoys

    def decoy(self):
        r = self.random
        return r.choice([
            self.uuid,
            lambda: self.of(HEX, 40),
            lambda: self.of(HEX, 7),
            lambda: self.of(HEX, 64),
            lambda: f"2026-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}T{r.randint(0, 23):02d}:{r.randint(0, 59):02d}:{r.randint(0, 59):02d}Z",
            lambda: f"2026-{r.randint(1, 12):02d}-{r.randint(1, 28):02d} {r.randint(0, 23):02d}:{r.randint(0, 59):02d}:{r.randint(0, 59):02d},{r.randint(0, 999):03d}",
            lambda: str(r.randint(1_700_000_000, 1_799_999_999)),
            lambda: str(r.randint(1_700_000_000_000, 1_799_999_999_999)),
            lambda: f"ORD-{r.randint(2020, 2026)}-{self.digits(6)}",
            lambda: f"{self.digits(3)}-{self.digits(7)}-{self.digits(7)}",
            lambda: bad_luhn("4" + self.digits(15)),
            lambda: bad_luhn("37" + self.digits(13)),
            lambda: "978" + ean_digit("978" + self.digits(9)),
            lambda: f"{r.randint(0, 20)}.{r.randint(0, 30)}.{r.randint(0, 99)}",
            lambda: f"v{r.randint(0, 9)}.{r.randint(0, 9)}.{r.randint(0, 9)}.{r.randint(0, 9)}",
            lambda: f"{r.uniform(-90, 90):.6f}, {r.uniform(-180, 180):.6f}",
            lambda: f"#{self.of(HEX, 6)}",
            lambda: f"1Z{self.of(string.digits + string.ascii_uppercase, 16)}",
            lambda: base64.b64encode(bytes([0x89, 0x50, 0x4E, 0x47]) + r.randbytes(90)).decode(),
            lambda: f"000-{self.digits(2)}-{self.digits(4)}",
            lambda: f"localhost:{r.randint(1024, 65535)}",
            lambda: f"{r.randint(1, 9999)}.{r.randint(0, 99):02d} EUR",
            lambda: f"SKU-{self.of(string.ascii_uppercase, 3)}-{self.digits(5)}",
            lambda: f"req_{self.of(ALNUM, 14)}",
            lambda: "sk-...",
            lambda: "<your-api-key>",
            lambda: "AKIAXXXXXXXXXXXXXXXX",
            lambda: f"left-pad@{r.randint(0, 9)}.{r.randint(0, 9)}.{r.randint(0, 9)}",
            lambda: f"icon@{r.randint(2, 3)}x.png",
        ])()


def luhn_digit(body):
    total = 0
    for place, digit in enumerate(reversed(body)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return str(-total % 10)


def bad_luhn(number):
    right = luhn_digit(number[:-1])
    return number[:-1] + str((int(right) + 3) % 10)


def ean_digit(body):
    total = sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(body))
    return body[3:] + str(-total % 10)
