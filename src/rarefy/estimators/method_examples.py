"""Docstrings of methods: examples, errors and related methods.

`method_docs` adds them, as it adds descriptions of parameters. A key is the name of a method, or
its qualified name where the methods of two classes need different texts.
"""

from rarefy.docstrings import DocstringEntry

INVALID = DocstringEntry("ConfigError", "If a parameter is invalid, or does not fit the others.")
BAD_ROWS = DocstringEntry(
    "InputError", "If rows, labels or weights are invalid. Nothing is learned."
)
DIVERGED = DocstringEntry("DivergenceError", "If weights grow without bound.")
NOT_FITTED = DocstringEntry("NotFittedError", "If the model has learned nothing yet.")
UNREADABLE = DocstringEntry("InputError", "If rows are not of the kind that the model has learned.")
NO_PROBABILITIES = DocstringEntry("AttributeError", "If the loss has no probabilities, as `hinge`.")
CANNOT_LEARN = DocstringEntry("InputError", "If the model is slim, or a row is invalid.")

RAISES = {
    **dict.fromkeys(("fit", "partial_fit", "fit_stream"), (INVALID, BAD_ROWS, DIVERGED)),
    **dict.fromkeys(("learn_one", "learn_many"), (CANNOT_LEARN, DIVERGED)),
    **dict.fromkeys(("predict", "predict_one", "predict_many"), (NOT_FITTED, UNREADABLE)),
    "decision_function": (NOT_FITTED, UNREADABLE),
    **dict.fromkeys(
        ("predict_proba", "predict_proba_one", "predict_proba_many", "predict_log_proba"),
        (NO_PROBABILITIES, NOT_FITTED, UNREADABLE),
    ),
    "start": (INVALID, DocstringEntry("InputError", "If classes or columns are invalid.")),
    "remember": (DocstringEntry("ConfigError", "If a number is out of range."),),
    "save": (NOT_FITTED, DocstringEntry("InputError", "If the model cannot be saved as it is.")),
    "load": (DocstringEntry("InputError", "If the file is no model file, or of the other kind."),),
}
SEE_ALSO = {
    "fit": {
        "partial_fit": "Trains further, in one pass.",
        "fit_stream": "Trains on files.",
        "predict": "What the model predicts.",
    },
    "partial_fit": {
        "fit": "Trains a new model, usually with several passes.",
        "learn_one": "Learns a single row with names.",
    },
    "fit_stream": {"rarefy.read": "Makes a reader.", "rarefy.train": "Does both at once."},
    "start": {"learn_one": "Learns a row.", "partial_fit": "Learns many."},
    "learn_one": {
        "learn_many": "Several rows, which takes less time for each.",
        "predict_one": "The prediction for a row.",
        "start": "Begins a model.",
    },
    "learn_many": {"learn_one": "One row.", "predict_many": "Predictions for several rows."},
    "predict_one": {
        "predict_many": "Several rows.",
        "predict_proba_one": "Probabilities.",
        "rarefy.explain": "Why the row is predicted so.",
    },
    "predict_many": {"predict_one": "One row.", "learn_many": "Learns several rows."},
    "predict": {
        "predict_proba": "Probabilities.",
        "decision_function": "Scores.",
        "rarefy.explain": "Why a row is predicted so.",
    },
    "decision_function": {"predict": "Labels.", "predict_proba": "Probabilities."},
    "predict_proba": {
        "predict": "Labels.",
        "rarefy.evaluate": "Judges labels and probabilities.",
    },
    "predict_proba_one": {"predict_one": "The label.", "predict_proba_many": "Several rows."},
    "predict_proba_many": {"predict_many": "Labels.", "predict_proba_one": "One row."},
    "predict_log_proba": {"predict_proba": "The probabilities themselves."},
    "remember": {"predict_one": "With `id`, remembers the row.", "learn_one": "Brings its label."},
    "save": {"rarefy.load": "Reads the file."},
    "load": {"rarefy.load": "Loads either kind of estimator.", "save": "Writes the file."},
}

_CLASSES = """>>> from rarefy import SparseOnlineClassifier
>>> X = [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]
>>> y = ["ham", "spam", "ham", "spam"]
>>> model = SparseOnlineClassifier().fit(X, y)
"""
_NUMBERS = """>>> from rarefy import SparseOnlineRegressor
>>> X = [[float(n % 10)] for n in range(100)]
>>> y = [3.0 * n + 1.0 for [n] in X]
>>> model = SparseOnlineRegressor().fit(X, y)
"""
_GRID = """>>> import numpy as np
>>> from rarefy import SparseOnlineClassifierCV
>>> X = np.random.default_rng(0).normal(size=(200, 5))
>>> y = X[:, 0] > 0.0
>>> model = SparseOnlineClassifierCV(l1=[0.1, 1.0], cv=5, passes=2).fit(X, y)
"""
_ROWS = """>>> from rarefy import SparseOnlineClassifier
>>> model = SparseOnlineClassifier().start(classes=["ham", "spam"], text=["words"])
>>> for _ in range(10):
...     _ = model.learn_one({"words": "win a prize"}, "spam")
...     _ = model.learn_one({"words": "see you at lunch"}, "ham")
"""
_FOLDER = """>>> import tempfile
>>> from pathlib import Path
>>> folder = Path(tempfile.mkdtemp())
"""
EXAMPLES = {
    "SparseOnlineClassifier.fit": _CLASSES
    + """>>> model.predict([[4.0, 0.0]]).tolist()
['ham']""",
    "SparseOnlineRegressor.fit": _NUMBERS
    + """>>> round(float(model.predict([[5.0]])[0]))
16""",
    "CrossValidated.fit": _GRID
    + """>>> model.best_params_["l1"] in (0.1, 1.0), model.score(X, y) > 0.9
(True, True)""",
    "SparseOnlineClassifier.partial_fit": """>>> from rarefy import SparseOnlineClassifier
>>> model = SparseOnlineClassifier()
>>> for _ in range(5):
...     _ = model.partial_fit([[1.0, 0.0], [0.0, 1.0]], ["ham", "spam"], classes=["ham", "spam"])
>>> model.t_, model.predict([[2.0, 0.0]]).tolist()
(10, ['ham'])""",
    "SparseOnlineRegressor.partial_fit": """>>> from rarefy import SparseOnlineRegressor
>>> model = SparseOnlineRegressor()
>>> for n in range(100):
...     _ = model.partial_fit([[float(n % 10)]], [3.0 * (n % 10)])
>>> round(float(model.predict([[5.0]])[0]))
15""",
    "fit_stream": _FOLDER
    + """>>> _ = (folder / "mails.vw").write_text("1 | win a prize\\n-1 | see you\\n" * 10)
>>> import rarefy
>>> reader = rarefy.read(folder / "mails.vw")
>>> model = rarefy.SparseOnlineClassifier().fit_stream(reader)
>>> model.t_, model.predict(reader).tolist()[:2]
(20, [1, -1])""",
    "start": """>>> from rarefy import SparseOnlineClassifier
>>> model = SparseOnlineClassifier().start(classes=["ham", "spam"], text=["words"])
>>> model.learn_one({"words": "win a prize", "hour": 3}, "spam").t_
1""",
    "learn_one": _ROWS
    + """>>> model.t_, model.predict_one({"words": "a prize for you"})
(20, 'spam')""",
    "learn_many": """>>> from rarefy import SparseOnlineClassifier
>>> model = SparseOnlineClassifier().start(classes=["ham", "spam"], text=["words"])
>>> rows = [{"words": "win a prize"}, {"words": "see you at lunch"}]
>>> model.learn_many(rows * 10, ["spam", "ham"] * 10).t_
20""",
    "predict_one": _ROWS
    + """>>> model.predict_one({"words": "lunch?"})
'ham'""",
    "predict_many": _ROWS
    + """>>> model.predict_many([{"words": "lunch?"}, {"words": "a prize"}])
['ham', 'spam']""",
    "SparseOnlineClassifier.predict": _CLASSES
    + """>>> model.predict([[4.0, 0.0], [0.0, 4.0]]).tolist()
['ham', 'spam']""",
    "SparseOnlineRegressor.predict": _NUMBERS
    + """>>> model.predict([[2.0], [4.0]]).round().tolist()
[7.0, 13.0]""",
    "CrossValidated.predict": _GRID
    + """>>> model.predict([[3.0, 0.0, 0.0, 0.0, 0.0]]).tolist()
[True]""",
    "SparseOnlineClassifier.decision_function": _CLASSES
    + """>>> (model.decision_function([[4.0, 0.0], [0.0, 4.0]]) > 0.0).tolist()
[False, True]""",
    "SparseOnlineClassifierCV.decision_function": _GRID
    + """>>> (model.decision_function(X) > 0.0).shape
(200,)""",
    "SparseOnlineClassifier.predict_proba": _CLASSES
    + """>>> model.classes_.tolist(), model.predict_proba([[4.0, 0.0]])[0, 0] > 0.5
(['ham', 'spam'], np.True_)""",
    "SparseOnlineClassifierCV.predict_proba": _GRID
    + """>>> model.predict_proba(X).sum(axis=1).round(9).max()
np.float64(1.0)""",
    "SparseOnlineClassifier.predict_log_proba": _CLASSES
    + """>>> model.predict_log_proba(X).shape
(4, 2)""",
    "SparseOnlineClassifierCV.predict_log_proba": _GRID
    + """>>> model.predict_log_proba(X).shape
(200, 2)""",
    "predict_proba_one": _ROWS
    + """>>> chance = model.predict_proba_one({"words": "a prize"})
>>> list(chance), chance["spam"] > 0.5
(['ham', 'spam'], True)""",
    "predict_proba_many": _ROWS
    + """>>> model.predict_proba_many([{"words": "lunch?"}, {"words": "a prize"}]).argmax(axis=1)
array([0, 1])""",
    "remember": _ROWS
    + """>>> _ = model.remember(most=1000, seconds=3600)
>>> answer = model.predict_one({"words": "you have won"}, id="mail 17")
>>> model.learn_one(id="mail 17", y="spam").t_
21""",
    "Saving.save": _CLASSES
    + _FOLDER
    + """>>> model.save(folder / "mails.model")
>>> import rarefy
>>> rarefy.load(folder / "mails.model").predict([[4.0, 0.0]]).tolist()
['ham']""",
    "CrossValidated.save": _GRID
    + _FOLDER
    + """>>> model.save(folder / "signs.model")
>>> import rarefy
>>> type(rarefy.load(folder / "signs.model")).__name__
'SparseOnlineClassifier'""",
    "load": _CLASSES
    + _FOLDER
    + """>>> model.save(folder / "mails.model")
>>> SparseOnlineClassifier.load(folder / "mails.model").predict([[4.0, 0.0]]).tolist()
['ham']""",
}
