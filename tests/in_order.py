"""Estimators that take the rows in their order, once, so that what comes of it can be told."""

from rarefy import SparseOnlineClassifier, SparseOnlineRegressor

IN_ORDER = {"passes": 1, "shuffle": False}


def classifier_in_order(*arguments, **parameters):
    return SparseOnlineClassifier(*arguments, **{**IN_ORDER, **parameters})


def regressor_in_order(*arguments, **parameters):
    return SparseOnlineRegressor(*arguments, **{**IN_ORDER, **parameters})
