"""rarefy's models are estimators of River, by River's own checks."""

import pytest

pytest.importorskip("river")

from river import checks, compose, datasets, drift, evaluate, metrics, preprocessing

from rarefy.river import SparseOnlineClassifier, SparseOnlineRegressor

MODELS = {
    "classifier": lambda: SparseOnlineClassifier(rule="ftrl"),
    "regressor": lambda: SparseOnlineRegressor(rule="ftrl", loss="huber"),
    "growing classifier": lambda: SparseOnlineClassifier(classes="grow"),
    "default classifier": SparseOnlineClassifier,
    "default regressor": SparseOnlineRegressor,
}
SLOW = ("default regressor", "regressor", "default classifier", "growing classifier")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in MODELS]
)
def test_rivers_own_checks(name):
    checks.check_estimator(MODELS[name]())


def test_in_a_pipeline_with_a_drift_detector():
    model = compose.Pipeline(preprocessing.StandardScaler(), SparseOnlineClassifier())
    detector = drift.ADWIN()
    accuracy = metrics.Accuracy()
    for x, y in datasets.Phishing().take(200):
        predicted = model.predict_one(x)
        accuracy.update(y, predicted)
        detector.update(float(predicted != y))
        model.learn_one(x, y)
    assert accuracy.get() > 0.8
    twin = model.clone()
    stream = datasets.Phishing().take(200)
    assert evaluate.progressive_val_score(stream, twin, metrics.Accuracy()).get() == accuracy.get()


def test_several_classes_that_need_not_be_listed():
    stream = [(x, y) for x, y in datasets.ImageSegments().take(300)]
    model = compose.Pipeline(preprocessing.StandardScaler(), SparseOnlineClassifier("grow"))
    accuracy = evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get()
    assert len({y for _, y in stream}) > 3
    assert accuracy > 0.6
