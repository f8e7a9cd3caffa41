"""The document that describes the service, for people, clients and tests."""

from typing import Any

from rarefy.serving.bodies import FORMATS, JSON
from rarefy.version import __version__

ROWS = {
    "description": "A row is an object of columns; labels and weights are columns, too.",
    "oneOf": [
        {"type": "object", "additionalProperties": True},
        {"type": "array", "items": {"type": "object", "additionalProperties": True}},
    ],
}
LABELS = {
    "oneOf": [
        {"$ref": "#/components/schemas/Label"},
        {"type": "array", "items": {"$ref": "#/components/schemas/Label"}},
    ]
}
OBJECT = {"type": "object", "additionalProperties": True}
MODEL_FILE = "application/vnd.rarefy.model"
ERRORS = {
    "401": "A token is needed.",
    "403": "The token, the host or the origin is not allowed.",
    "404": "There is no such model, snapshot or id.",
    "405": "The path does not take that method.",
    "408": "It took too long to arrive.",
    "409": "It exists already, or is being changed.",
    "413": "It is more than the limits allow.",
    "415": "The Content-Type or Content-Encoding is not known.",
    "422": "The rows or parameters are wrong; the message says where.",
    "503": "The service is busy, starting or ending: try again.",
    "507": "The disk is full; nothing was learned.",
}


def _rows(schema: Any = ROWS) -> dict[str, Any]:
    content: dict[str, Any] = {
        kind: {"schema": {"type": "string", "format": "binary"}} for kind in FORMATS
    }
    content[JSON] = {"schema": schema}
    return {"required": True, "content": content}


def _json(schema: Any) -> dict[str, Any]:
    return {"required": True, "content": {JSON: {"schema": schema}}}


def _file() -> dict[str, Any]:
    schema = {"type": "string", "format": "binary"}
    kinds = (MODEL_FILE, "application/octet-stream")
    return {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}


def _query(name: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": text}


def _path(name: str) -> dict[str, Any]:
    kind = {"type": "integer", "minimum": 0} if name == "seq" else {"$ref": NAME_SCHEMA}
    return {"name": name, "in": "path", "required": True, "schema": kind}


NAME_SCHEMA = "#/components/schemas/Name"
WHOLE = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
TOP = _query("top", WHOLE, "How many are shown.")
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
    "description": "A request with the same key and body is learned once.",
}
# method, path, summary, body, further parameters, status
OPERATIONS: list[tuple[str, str, str, dict[str, Any] | None, list[dict[str, Any]], str]] = [
    (
        *("post", "/models/{name}/predict", "Predict rows", _rows()),
        [
            _query("id", {"type": "string", "maxLength": 200}, "Remember the row by this id."),
            _query("remember", {"type": "boolean"}, "Remember rows; the answers have ids."),
        ],
        "200",
    ),
    ("post", "/models/{name}/learn", "Learn rows that have labels", _rows(), [KEY], "200"),
    ("post", "/models/{name}/label", "Labels of earlier predictions", _rows(LABELS), [], "200"),
    (
        *("post", "/models/{name}/explain", "Explain the prediction of a row", _rows()),
        [_query("row", WHOLE, "Which row, counted from 1.")],
        "200",
    ),
    ("get", "/models", "All models", None, [], "200"),
    ("get", "/models/{name}", "What a model is", None, [], "200"),
    (
        *("put", "/models/{name}", "Begin a model"),
        *(_json({"$ref": "#/components/schemas/Parameters"}), [], "201"),
    ),
    ("delete", "/models/{name}", "Delete a model and its log", None, [], "204"),
    (
        *("get", "/models/{name}/features", "The strongest features", None),
        [TOP, _query("search", {"type": "string"}, "Only names that contain this.")],
        "200",
    ),
    ("get", "/models/{name}/history", "Figures of the last 15 minutes", None, [], "200"),
    ("get", "/models/{name}/file", "Download the model file", None, [], "200"),
    ("put", "/models/{name}/file", "Upload a model file", _file(), [], "201"),
    (
        *("put", "/models/{name}/challengers/{challenger}", "Begin a challenger"),
        *(_json(OBJECT), [], "201"),
    ),
    (
        *("delete", "/models/{name}/challengers/{challenger}", "Drop a challenger"),
        *(None, [], "204"),
    ),
    (
        *("post", "/models/{name}/challengers/{challenger}/promote", "Let a challenger answer"),
        *(None, [], "200"),
    ),
    ("get", "/models/{name}/snapshots", "Snapshots, the newest first", None, [], "200"),
    ("post", "/models/{name}/snapshots", "Write a snapshot now", None, [], "200"),
    (
        *("get", "/models/{name}/snapshots/{seq}/diff", "Weights changed since a snapshot"),
        *(None, [TOP], "200"),
    ),
    (
        *("post", "/models/{name}/snapshots/{seq}/rollback", "Go back to a snapshot"),
        *(None, [], "200"),
    ),
    ("get", "/events", "Figures, once a second, as server-sent events", None, [], "200"),
    ("get", "/metrics", "Metrics for Prometheus", None, [], "200"),
    ("get", "/health", "Whether all models are ready", None, [], "200"),
]
SCHEMAS = {
    "Name": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"},
    "Label": {
        "type": "object",
        "required": ["id", "label"],
        "properties": {
            "id": {"type": "string"},
            "label": {"oneOf": [{"type": "string"}, {"type": "number"}]},
        },
    },
    "Parameters": {
        "type": "object",
        "description": "Parameters of an estimator and of its start(): with classes (a list, or "
        "'grow') it classifies, without it predicts numbers.",
        "properties": {
            "classes": {},
            "rule": {"type": "string"},
            "loss": {"type": "string"},
            "l1": {},
            "text": {"type": "array", "items": {"type": "string"}},
        },
        "additionalProperties": True,
    },
    "Error": {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {"status": {"type": "integer"}, "message": {"type": "string"}},
            }
        },
    },
}


def document() -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, Any] = {}
    for method, path, text, body, more, status in OPERATIONS:
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        error = {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
        operation: dict[str, Any] = {
            "summary": text,
            "operationId": f"{method}_{path.strip('/').translate(str.maketrans('/{}', '_  '))}",
            "parameters": [*map(_path, names), *more],
            "responses": {
                status: {"description": "Done."},
                **{code: {"description": why, "content": error} for code, why in ERRORS.items()},
            },
            "security": [{}, {"token": []}],
        }
        operation["operationId"] = operation["operationId"].replace(" ", "")
        if body is not None:
            operation["requestBody"] = body
        paths.setdefault(path, {})[method] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "rarefy serve", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
