"""`rarefy.anchored`: a model that learns its difference to an old one."""

from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from rarefy.errors import ConfigError
from rarefy.estimators.persistence import estimator_of, model_of_estimator
from rarefy.files.model_file import load_model
from rarefy.training.anchored_start import OF_RULE, anchored_model


def anchored(old: Any, **parameters: Any) -> Any:
    """A model that predicts as an old one, and learns from now on its difference to it.

    The penalties l1 and l2 of the rule then pull towards the old weights, not towards zero:
    λ₁ ‖w - w_old‖₁ + λ₂/2 ‖w - w_old‖². With an l1 that is large enough, most weights stay exactly
    as they were, and the difference can be read.

    Parameters
    ----------
    old : str, Path, SparseOnlineClassifier or SparseOnlineRegressor
        A model file, or a fitted estimator. It stays as it is, and may be slim or refitted.
    **parameters
        `rule`, and the parameters of it: `l1`, `l2`, `eta0`, ... Those that are not given are the
        old model's; with a `rule`, its defaults.

    Returns
    -------
    SparseOnlineClassifier or SparseOnlineRegressor
        It has learned nothing so far (`t_` is 0) and goes on by `partial_fit`, or by `fit`, as its
        `warm_start` is True. Files that it is saved to go on as all files do.

    Raises
    ------
    ConfigError
        If a parameter is unknown or invalid, or the rule cannot be anchored.
    InputError
        If the old model cannot be read, or comes from a run that was interrupted.

    See Also
    --------
    update : Learns on within a budget for lost answers; has `anchor`, too.
    soft_targets : Another way to stay close to a model.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(600, 20))
    >>> y = X[:, 0] + X[:, 1] + random.normal(size=600) > 0.0
    >>> old = rarefy.SparseOnlineClassifier(l1=0.1).fit(X[:300], y[:300])
    >>> new = rarefy.anchored(old, l1=2.0)
    >>> bool((new.coef_ == old.coef_).all())
    True
    >>> _ = new.partial_fit(X[300:], y[300:])
    >>> 0 < int(np.count_nonzero(new.coef_ != old.coef_)) < 10
    True
    """
    for name, value in parameters.items():
        if name not in OF_RULE:
            raise ConfigError(
                f"{name}={value!r} is settled by the old model; with anchored, there are "
                f"{', '.join(OF_RULE)}."
            )
    if isinstance(old, str | Path):
        estimator = estimator_of(anchored_model(load_model(old), str(old), parameters))
    else:
        check_is_fitted(old)
        saved = model_of_estimator(old, slim=True)
        estimator = estimator_of(anchored_model(saved, "the old model", parameters))
    estimator.warm_start = True
    return estimator
