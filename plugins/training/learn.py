"""Learns `src/scan/learned/weights.txt` from definitions that are poisoned and definitions that are honest.

    pip install numpy==2.3.4 scipy==1.16.3
    python learn.py --clues PROGRAM --poisoned FILE... --honest FILE... --more FILE... --out weights.txt

PROGRAM prints the clues of each passage of a definition (`cargo build --release -p gateway-plugins --example clues`). Files hold
`{"tool": {..}}` a line, or, as `.txt`, `name | description | parameter: description`. Which passage of a poisoned definition is
the poisoned one is not written down: the one that sounds worst is taken for it, and the learning done again. What is honest in
`--honest` was written to sound bad and counts more than `--more`, tool lists as servers have them.
"""

import argparse
import json
import subprocess

import numpy as np
from scipy import sparse
from scipy.optimize import minimize


# What a rule counts for beside a word that stands alone.
RULE = 0.5


def tools(path):
    for line in open(path, encoding="utf-8"):
        if not line.strip() or line.startswith("# "):
            continue
        if path.endswith(".jsonl"):
            yield json.loads(line)["tool"]
            continue
        name, *rest = line.rstrip("\n").replace("\\n", "\n").split(" | ")
        description, *parameters = rest or [name]
        pairs = [one.split(": ", 1) for one in parameters]
        properties = {pair[0]: {"type": "string", "description": pair[-1]} for pair in pairs}
        yield {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


def clues(program, paths):
    lines = "".join(json.dumps({"tool": tool}) + "\n" for path in paths for tool in tools(path))
    told = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in told.splitlines()]


def share(clue):
    return "meaning" if clue[0] == "@" else "rule" if clue[0] in "!%" else "word"


def matrix(passages, places):
    """A row a passage; words share what they say, and meanings do, and rules do not, as in `Weights::score`."""
    rows, columns, values = [], [], []
    for row, passage in enumerate(passages):
        known = [clue for clue in passage if clue in places]
        many = {kind: sum(share(clue) == kind for clue in known) for kind in ("meaning", "word")}
        rows += [row] * len(known)
        columns += [places[clue] for clue in known]
        values += [RULE if share(clue) == "rule" else 1 / np.sqrt(many[share(clue)]) for clue in known]
    return sparse.csr_matrix((values, (rows, columns)), shape=(len(passages), len(places)))


def fit(rows, truth, weight, strength, start, most):
    """Logistic regression: what each clue weighs, behind what every passage begins with."""
    sign, columns = np.where(truth, 1.0, -1.0), rows.T.tocsr()

    def loss(at):
        margin = sign * (rows @ at[1:] + at[0])
        pull = -strength * weight * sign / (1 + np.exp(np.clip(margin, -50, 50)))
        told = strength * (weight * np.logaddexp(0, -margin)).sum() + 0.5 * at[1:] @ at[1:]
        return told, np.r_[pull.sum(), columns @ pull + at[1:]]

    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": most}).x


def learn(poisoned, honest, more, places, strength, rounds):
    passages = [passage for tool in poisoned for passage in tool]
    owner = np.repeat(np.arange(len(poisoned)), [len(tool) for tool in poisoned])
    rows = sparse.vstack([matrix(passages, places), matrix(honest, places), matrix(more, places)]).tocsr()
    plain = {tuple(passage) for passage in honest}.union(more)
    # What honest tools say as well is not the poison.
    said = np.array([tuple(passage) in plain for passage in passages])
    # Nor is the sentence that introduces the tool, at first: it would believe itself.
    opens = np.r_[True, owner[1:] != owner[:-1]] & np.isin(owner, np.where(np.bincount(owner) > 1)[0])
    chosen, model = ~said & ~opens, np.zeros(len(places) + 1)
    for turn in range(rounds):
        truth = np.r_[chosen, np.zeros(len(honest) + len(more), bool)]
        # What stands beside the poison is honest, and in the same hand: how somebody writes is no clue.
        weight = np.r_[np.where(chosen, 3.0, 2.0), np.full(len(honest), 2.0), np.ones(len(more))]
        model = fit(rows, truth, weight, strength, model, 120 if turn == rounds - 1 else 60)
        score = rows[: len(passages)] @ model[1:] + model[0]
        chosen = score > 0.5
        for tool in range(len(poisoned)):
            of_it = np.where(owner == tool)[0]
            if len(of_it):
                chosen[of_it[np.argmax(score[of_it])]] = True
        chosen &= ~said
    return model


def pruned(poisoned, honest, more, given):
    """Learns with every clue, then again with the heaviest."""
    # The same sentence in a hundred tools is one sentence.
    honest = sorted({tuple(passage) for tool in honest for passage in tool})
    more = sorted({tuple(passage) for tool in more for passage in tool}.difference(honest))
    seen = {}
    for passage in [passage for tool in poisoned for passage in tool] + honest + more:
        for clue in passage:
            seen[clue] = seen.get(clue, 0) + 1
    known = sorted(clue for clue, times in seen.items() if times >= 3)
    first = learn(poisoned, honest, more, {clue: at for at, clue in enumerate(known)}, given.strength, 3)[1:]
    heaviest = sorted(range(len(known)), key=lambda at: (-abs(first[at]), known[at]))[: given.keep]
    known = sorted(known[at] for at in heaviest)
    return learn(poisoned, honest, more, {clue: at for at, clue in enumerate(known)}, given.strength, 2), known


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--clues", required=True)
    asked.add_argument("--poisoned", nargs="+", required=True)
    asked.add_argument("--honest", nargs="+", required=True)
    asked.add_argument("--more", nargs="*", default=[])
    asked.add_argument("--out", required=True)
    asked.add_argument("--quiet", type=float, default=0.5)
    asked.add_argument("--loud", type=float, default=1.2)
    asked.add_argument("--strength", type=float, default=2.0)
    asked.add_argument("--keep", type=int, default=20000, help="clues in the file")
    given = asked.parse_args()
    poisoned = clues(given.clues, given.poisoned)
    model, known = pruned(poisoned, clues(given.clues, given.honest), clues(given.clues, given.more), given)
    with open(given.out, "w", encoding="utf-8") as out:
        for value, name in [(model[0], "=start"), (given.quiet, "=quiet"), (given.loud, "=loud")]:
            out.write(f"{value:.2f}\t{name}\n")
        for clue, weight in zip(known, model[1:]):
            weight *= RULE if share(clue) == "rule" else 1
            if abs(weight) >= 0.05:
                out.write(f"{weight:.2f}\t{clue}\n")


if __name__ == "__main__":
    main()
