"""Predictions that wait for their labels, kept in the database of the log."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from rarefy.serving.bodies import Body, decode_json, encode_json, with_member
from rarefy.serving.log import LEARN, Entry, Log, Operation, Receipt
from rarefy.serving.operations import check_model
from rarefy.serving.refusals import ConflictError, RefusedError

CAN_BE_ASKED = ("json", "vw", "svmlight")


class PendingPrediction(NamedTuple):
    """A row that was predicted; once it is learned, by which entry."""

    id: str
    at: float
    body: Body
    answer: Any
    seq: int | None


@dataclass(frozen=True)
class Remember(Operation):
    """Remember rows that were predicted, by their ids; the oldest are forgotten, by and by."""

    model: str
    rows: list[tuple[str, Body, Any]]  # id, line, answer
    most: int

    @property
    def n_bytes(self) -> int:
        return sum(len(body.data) for _, body, _ in self.rows)

    def carry_out(self, log: Log, at: float) -> tuple[None, None]:
        check_model(log, self.model)
        log.db.executemany(
            "INSERT OR REPLACE INTO asked (model, id, at, format, body, answer) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [
                (self.model, id, at, body.format, body.data, encode_json(answer))
                for id, body, answer in self.rows
            ],
        )
        untold = log.n_remembered.get(self.model, self.most) + len(self.rows)
        if untold > self.most // 10:  # to find the oldest takes a while
            untold = 0
            log.db.execute(
                "DELETE FROM asked WHERE model = ? AND number <= (SELECT number FROM asked "
                "WHERE model = ? ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (self.model, self.model, self.most),
            )
        log.n_remembered[self.model] = untold
        return None, None


@dataclass(frozen=True)
class Find(Operation):
    """Look for what is remembered, when all that came before has been written."""

    model: str
    ids: list[str]

    def carry_out(self, log: Log, at: float) -> tuple[dict[str, PendingPrediction], None]:
        check_model(log, self.model)
        found = {}
        for id in self.ids:
            row = log.db.execute(
                "SELECT at, format, body, answer, seq FROM asked WHERE model = ? AND id = ?",
                (self.model, id),
            ).fetchone()
            if row is not None:
                asked_at, format, body, answer, seq = row
                found[id] = PendingPrediction(
                    id, asked_at, Body(format, body), decode_json(answer), seq
                )
        return found, None


@dataclass(frozen=True)
class Label(Operation):
    """Have rows learned that were remembered; none of them twice."""

    model: str
    ids: list[str]
    body: Body
    rows: int

    @property
    def n_bytes(self) -> int:
        return len(self.body.data)

    def carry_out(self, log: Log, at: float) -> tuple[Receipt, Entry]:
        check_model(log, self.model)
        for id in self.ids:
            row = log.db.execute(
                "SELECT seq FROM asked WHERE model = ? AND id = ?", (self.model, id)
            ).fetchone()
            if row is None or row[0] is not None:
                raise ConflictError(
                    f"the label of {id!r} came in another request at the same time."
                )
        entry = log.add(at, self.model, LEARN, self.rows, self.body)
        log.db.executemany(
            "UPDATE asked SET seq = ?, body = x'' WHERE model = ? AND id = ?",
            [(entry.seq, self.model, id) for id in self.ids],
        )
        return Receipt(entry.seq, self.rows), entry


@dataclass(frozen=True)
class Expire(Operation):
    """Forget what was asked too long ago; how many of them never got a label."""

    model: str
    before: float

    def carry_out(self, log: Log, at: float) -> tuple[int, None]:
        first_kept = log.db.execute(
            "SELECT number FROM asked WHERE model = ? AND at >= ? ORDER BY number LIMIT 1",
            (self.model, self.before),
        ).fetchone()
        old = (self.model, 1 << 62 if first_kept is None else first_kept[0])
        missing = log.db.execute(
            "SELECT count(*) FROM asked WHERE model = ? AND number < ? AND seq IS NULL", old
        ).fetchone()[0]
        log.db.execute("DELETE FROM asked WHERE model = ? AND number < ?", old)
        return missing, None


def labelled(body: Body, label: Any, column: str) -> Body:
    """A row with its label, in the format that it had."""
    if isinstance(label, bool) or not isinstance(label, str | int | float):
        raise RefusedError(f"the label is {label!r}; a text or a number is expected.")
    if body.format == "json":
        return Body("json", with_member(body.data, column, label))
    end = "|" if body.format == "vw" else "#"
    if str(label).split() != [str(label)] or end in str(label):
        raise RefusedError(f"the label is {label!r}; a number is expected.")
    if body.format == "vw":
        before, _, features = body.data.partition(b"|")
        text = _vw_weight(before) + b"|" + features
    else:
        text = b" ".join(body.data.partition(b"#")[0].split()[1:]) + b"\n"
    return Body(body.format, f"{label} ".encode() + text)


def _vw_weight(before: bytes) -> bytes:
    """The weight in what is before the first bar of a line; what touches the bar is a tag."""
    tokens = [token for token in before[: before.rfind(b" ") + 1].split(b" ") if token]
    return tokens[1] + b" " if len(tokens) > 1 and not tokens[1].startswith(b"'") else b""


def rows_of(body: Body) -> list[Body]:
    """Each row by itself."""
    if body.format not in CAN_BE_ASKED:
        raise RefusedError(
            f"rows of {body.format} cannot be remembered; send JSON, VW text or svmlight."
        )
    lines = [line for line in body.data.split(b"\n") if line.strip()]
    if body.format == "svmlight":
        lines = [line for line in lines if not line.lstrip().startswith(b"#")]
    return [Body(body.format, line + b"\n") for line in lines]
