"""The scikit-learn faces of the engine."""

from rarefy.estimators.classifier import SparseOnlineClassifier
from rarefy.estimators.regressor import SparseOnlineRegressor

__all__ = ["SparseOnlineClassifier", "SparseOnlineRegressor"]
