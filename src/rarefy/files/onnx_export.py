"""A model as an ONNX graph in double precision; docs/reference/commands.md has its interface."""

from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from rarefy.errors import InputError
from rarefy.files.model import Model
from rarefy.files.text_export import link_of
from rarefy.stores import Kept

OPSETS = {"": 18, "ai.onnx.ml": 4}
IR_VERSION = 8  # as old as these opsets, for older runtimes
MOST_BYTES = (1 << 31) - (1 << 20)  # a message of ONNX has less than 2 GiB


def onnx_bytes(model: Model) -> bytes:
    """The file."""
    graph = Graph()
    n_outputs = len(model.intercepts)
    if model.store["kind"] == "array":
        scores = dense_scores(graph, model)
    else:
        scores = sparse_scores(graph, model)
    graph.output("scores", scores, TensorProto.DOUBLE, ["n_rows", n_outputs])
    if model.classes:
        names = class_names(model.classes)
        kind = TensorProto.STRING if names.dtype == object else TensorProto.INT64
        winners = winning_classes(graph, scores, n_outputs, model.decision_threshold)
        graph.output(
            "label", graph.node("Gather", graph.constant(names), winners), kind, ["n_rows"]
        )
    link = link_of(model)
    if link is not None:
        found = probabilities(graph, scaled(graph, scores, model.scaling), link, n_outputs)
        graph.output("probabilities", found, TensorProto.DOUBLE, ["n_rows", n_outputs])
    return graph.serialized()


class Graph:
    """Nodes in the order in which they are worked out; what they give has made-up names."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._constants: list[Any] = []
        self._names = (f"value_{number}" for number in count())

    def input(self, name: str, kind: int, shape: list[Any]) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, kind: int, shape: list[Any]) -> None:
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def constant(self, array: Any) -> str:
        name = next(self._names)
        self._constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = next(self._names)
        self._nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def serialized(self) -> bytes:
        graph = helper.make_graph(
            self._nodes, "rarefy", self._inputs, self._outputs, self._constants
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="rarefy"
        )
        data: bytes = model.SerializeToString()
        return data


def weight_rows(kept: Kept, n_outputs: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The features that have a weight, one at least, and a row of weights for each."""
    keys, rows = np.unique(kept.keys, return_inverse=True)
    if len(keys) * (2 + n_outputs) * 8 > MOST_BYTES:
        raise InputError(
            f"the weights of {len(keys):,} features are too many for ONNX, whose files must be "
            f"smaller than 2 GiB; train with a larger --l1."
        )
    weights = np.zeros((max(1, len(keys)), n_outputs))
    weights[rows, kept.outputs] = kept.weights
    return (keys if len(keys) else np.zeros(1, np.uint64)).view(np.int64), weights


def dense_scores(graph: Graph, model: Model) -> str:
    """Of the rows of a matrix X, whose columns are the features."""
    x = graph.input("X", TensorProto.DOUBLE, ["n_rows", "n_features"])
    keys, weights = weight_rows(model.kept, len(model.intercepts))
    columns = graph.node("Gather", x, graph.constant(keys), axis=1)
    products = graph.node("MatMul", columns, graph.constant(weights))
    return graph.node("Add", products, graph.constant([model.intercepts]))


def sparse_scores(graph: Graph, model: Model) -> str:
    """Of entries, each with the number of its row, its key and its value.

    The entries are added in their order, as the engine does.
    """
    rows = graph.input("rows", TensorProto.INT64, ["n_entries"])
    keys = graph.input("keys", TensorProto.INT64, ["n_entries"])
    values = graph.input("values", TensorProto.DOUBLE, ["n_entries"])
    n_rows = graph.input("n_rows", TensorProto.INT64, [1])
    n_outputs = len(model.intercepts)
    if model.store["kind"] == "hashed":
        keys = graph.node("BitwiseAnd", keys, graph.constant((1 << model.store["bits"]) - 1))
    known, weights = weight_rows(model.kept, n_outputs)
    places = graph.node(
        "LabelEncoder",
        keys,
        domain="ai.onnx.ml",
        keys_tensor=numpy_helper.from_array(known),
        values_tensor=numpy_helper.from_array(np.arange(len(known))),
        default_tensor=numpy_helper.from_array(np.array([len(known)])),
    )
    of_unknown = np.zeros((1, n_outputs))
    of_entries = graph.node("Gather", graph.constant(np.vstack([weights, of_unknown])), places)
    as_column = graph.constant([1])
    products = graph.node("Mul", of_entries, graph.node("Unsqueeze", values, as_column))
    of_products = graph.node(
        "Expand", graph.node("Unsqueeze", rows, as_column), graph.node("Shape", products)
    )
    shape = graph.node("Concat", n_rows, graph.constant([n_outputs]), axis=0)
    intercepts = graph.node("Expand", graph.constant([model.intercepts]), shape)
    return graph.node("ScatterElements", intercepts, of_products, products, axis=0, reduction="add")


def winning_classes(graph: Graph, scores: str, n_outputs: int, decision_threshold: float) -> str:
    """The number of the class with the highest score; of two, by the threshold."""
    if n_outputs > 1:
        return graph.node("ArgMax", scores, axis=1, keepdims=0)
    of_rows = graph.node("Squeeze", scores, graph.constant([1]))
    is_second = graph.node("Greater", of_rows, graph.constant(decision_threshold))
    return graph.node("Cast", is_second, to=TensorProto.INT64)


def class_names(classes: tuple[str, ...]) -> NDArray[Any]:
    """Whole numbers as numbers, if all of them are, and else texts."""
    try:
        numbers = [int(name) for name in classes]
    except ValueError:
        return np.array(classes, dtype=object)
    if [str(number) for number in numbers] != list(classes) or max(map(abs, numbers)) >= 1 << 63:
        return np.array(classes, dtype=object)
    return np.array(numbers, dtype=np.int64)


def scaled(graph: Graph, scores: str, scaling: float | None) -> str:
    """Scores as probabilities follow from them."""
    if scaling is None:
        return scores
    return graph.node("Mul", scores, graph.constant(scaling))


def probabilities(graph: Graph, scores: str, link: str, n_outputs: int) -> str:
    """Probabilities of the classes from scores, as `rarefy.model.answers` computes them."""
    if link == "softmax":
        return graph.node("Softmax", scores, axis=1)
    if link == "modified_huber":
        limited = graph.node("Clip", scores, graph.constant(-1.0), graph.constant(1.0))
        above = graph.node("Add", limited, graph.constant(1.0))
        each = graph.node("Mul", above, graph.constant(0.5))
    else:
        each = graph.node("Sigmoid", scores)
    if n_outputs == 1:
        return each
    total = graph.node("ReduceSum", each, graph.constant([1]), keepdims=1)
    some = graph.node("Greater", total, graph.constant(0.0))
    shares = graph.node("Div", each, total)
    return graph.node("Where", some, shares, graph.constant(1.0 / n_outputs))
