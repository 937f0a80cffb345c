"""Ways to make a run look better than it was, each one change in an unpacked pack."""

import hashlib
import json
import sqlite3
import zipfile
import zlib
from contextlib import closing
from types import SimpleNamespace

import zstandard

from agent_env.features.verify.pack import FIXED_TIME


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def unpack(pack, folder):
    with zipfile.ZipFile(pack) as archive:
        archive.extractall(folder)
    return folder


def zipped(folder, out):
    """The folder as a pack, whatever its list of digests says."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            name = str(file.relative_to(folder))
            archive.writestr(zipfile.ZipInfo(name, FIXED_TIME), file.read_bytes())
    return out


def restated(folder):
    """The list with the digests of the files as they are now."""
    files = [each for each in (folder / "run").rglob("*") if each.is_file()]
    digests = {str(each.relative_to(folder)): sha256(each.read_bytes()) for each in files}
    (folder / "digests.json").write_text(json.dumps(digests))


def resealed(folder):
    """All traces with new checksums, and the samples with their new digest in run.json."""
    for trace in (folder / "run/episodes").rglob("*.jsonl"):
        crc, lines = 0, []
        for line in trace.read_bytes().splitlines():
            body = line[:-18] + b"}"
            crc = zlib.crc32(body[:-1], crc)
            lines.append(b'%b,"crc":"%08x"}\n' % (body[:-1], crc))
        trace.write_bytes(b"".join(lines))
    samples = (folder / "run/samples.jsonl").read_bytes()
    change_run(folder, samples_digest=sha256(samples))


def change_run(folder, **update):
    file = folder / "run/run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | update, indent=2) + "\n")


def traces(folder):
    return sorted((folder / "run/episodes").rglob("*.jsonl"))


def named(trace):
    return f"{trace.parent.name}/{trace.stem}"


def change_event(trace, number, change):
    """An event of the trace changed; the line keeps its old checksum."""
    lines = trace.read_bytes().splitlines(keepends=True)
    end = lines[number][-19:]
    event = json.loads(lines[number])
    del event["crc"]
    change(event)
    body = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
    lines[number] = body[:-1] + end
    trace.write_bytes(b"".join(lines))


def answer(folder, rng):
    """The answer at the end of an episode."""
    trace, text = rng.choice(traces(folder)), f"MY ANSWER: {1900 + rng.randrange(99)}-01-01"
    change_event(trace, -1, lambda event: event.update(answer=text))
    return named(trace)


def reply(folder, rng):
    """The last reply, and the answer that was read in it."""
    trace, text = rng.choice(traces(folder)), f"MY ANSWER: {1900 + rng.randrange(99)}-01-01"
    change_event(trace, -2, lambda event: event["reply"]["message"].update(content=text))
    change_event(trace, -1, lambda event: event.update(answer=text))
    return named(trace)


def dropped(folder, rng):
    """An episode that is gone."""
    trace = rng.choice(traces(folder))
    trace.unlink()
    return named(trace)


def rechosen(folder, rng):
    """The first repeat of a sample replaced by the second one."""
    trace = rng.choice([each for each in traces(folder) if each.stem.endswith(".1")])
    name, other = named(trace), trace.with_name(f"{trace.name.removesuffix('.1.jsonl')}.2.jsonl")
    data = other.read_bytes().replace(f"{name[:-1]}2".encode(), name.encode())
    trace.write_bytes(data.replace(b'"repeat":2', b'"repeat":1'))
    return name


def cut(folder, rng):
    """An episode without its end."""
    trace = rng.choice(traces(folder))
    trace.write_bytes(b"".join(trace.read_bytes().splitlines(keepends=True)[:-1]))
    return named(trace)


def asked_again(folder, rng):
    """A finished episode that is set aside, as if it were broken, and another one in its place."""
    trace = rng.choice([each for each in traces(folder) if each.stem.endswith(".1")])
    aside = folder / "run/broken" / trace.parent.name / f"{trace.stem}.1.jsonl"
    aside.parent.mkdir(parents=True)
    data = trace.read_bytes()
    rechosen(folder, SimpleNamespace(choice=lambda files: trace))
    aside.write_bytes(data)
    start = json.loads(trace.read_bytes().splitlines()[0])["at"]
    with (folder / "run/begun.txt").open("a") as begun:
        begun.write(f"{start} {named(trace)}\n")
    return named(trace)


def left_out(folder, rng):
    """A sample with all its episodes, as if no condition could ask it."""
    file = folder / "run/samples.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    sample = json.loads(lines.pop(rng.randrange(len(lines))))["id"]
    file.write_text("".join(lines))
    for trace in traces(folder):
        if trace.stem.startswith(f"{sample}."):
            trace.unlink()
    begun = folder / "run/begun.txt"
    kept = [line for line in begun.read_text().splitlines() if f"/{sample}." not in line]
    begun.write_text("".join(f"{line}\n" for line in kept))
    change_run(folder, samples=len(lines), left_out={sample: "the web has no page that proves it"})
    return f"run.json: {sample} is left out"


def model(folder, rng):
    """Another model's name in run.json."""
    change_run(folder, model=rng.choice(["openai/gpt-5", "anthropic/claude-opus-5", "believer"]))
    return "run.json"


def price(folder, rng):
    """Another price of the model's tokens."""
    facts = json.loads((folder / "run/run.json").read_text())["model_facts"]
    facts["input_per_million"] = rng.uniform(2, 3)
    change_run(folder, model_facts=facts)
    return "cost_usd"


def gold(folder, rng):
    """Another gold of one question."""
    change_row(
        folder / "run/samples.jsonl", rng,
        lambda sample: sample.update(gold=[f"{1900 + rng.randrange(99)}-02-03"]),
    )  # fmt: skip
    return "samples.jsonl"


def figure(folder, rng):
    """A figure of the report."""
    file = folder / "run/report.json"
    report = json.loads(file.read_text())
    condition = rng.choice(sorted(report["conditions"]))
    report["conditions"][condition]["exact_match"] = rng.random()
    file.write_text(json.dumps(report, indent=1) + "\n")
    return f"conditions.{condition}.exact_match"


def score(folder, rng):
    """A stored score."""

    def change(row):
        row["metrics"]["exact_match"] = 1 - row["metrics"]["exact_match"]

    row = change_row(folder / "run/scores.jsonl", rng, change)
    return f"{row['condition']}/{row['sample']}.{row['repeat']}"


def change_row(file, rng, change):
    lines = file.read_text().splitlines()
    number = rng.randrange(len(lines))
    row = json.loads(lines[number])
    change(row)
    lines[number] = json.dumps(row, separators=(",", ":"), ensure_ascii=False)
    file.write_text("".join(f"{line}\n" for line in lines))
    return row


def page(folder, rng):
    """A byte of a stored page."""
    return _changed_blob(folder / "run/pages.db", "bodies", "body", rng)


def text(folder, rng):
    """A byte of what a tool gave back, or a prompt."""
    return _changed_blob(folder / "run/texts.db", "texts", "text", rng)


def _changed_blob(file, table, column, rng):
    with closing(sqlite3.connect(file)) as store, store:
        digests = [row[0] for row in store.execute(f"SELECT digest FROM {table} ORDER BY digest")]
        digest = rng.choice(digests)
        query = f"SELECT {column} FROM {table} WHERE digest = ?"
        (packed,) = store.execute(query, (digest,)).fetchone()
        data = zstandard.ZstdDecompressor().decompress(packed)
        at = rng.randrange(len(data))
        data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        packed = zstandard.ZstdCompressor().compress(data)
        store.execute(f"UPDATE {table} SET {column} = ? WHERE digest = ?", (packed, digest))
    return file.name


MADE_ANEW = (figure, score)
"""What packing the run again makes anew."""
FRAUDS = (answer, reply, dropped, rechosen, cut, asked_again, left_out, model, price, gold, page,
          text, *MADE_ANEW)  # fmt: skip
