"""The exceptions and warnings of rarefy; as in scikit-learn, errors are ValueErrors."""


class RarefyError(ValueError):
    """Base of all errors of this library, and a ValueError.

    See Also
    --------
    ConfigError : For parameters.
    InputError : For data.
    DivergenceError : For weights that grow without bounds.

    Examples
    --------
    >>> import rarefy
    >>> try:
    ...     rarefy.load("no such.model")
    ... except rarefy.RarefyError as error:
    ...     print(type(error).__name__)
    InputError
    """


class ConfigError(RarefyError):
    """A parameter, or a combination of parameters, that is not valid.

    See Also
    --------
    InputError : For data.

    Examples
    --------
    >>> import rarefy
    >>> try:
    ...     rarefy.SparseOnlineClassifier(l1=-1.0).fit([[1.0], [2.0]], [0, 1])
    ... except rarefy.ConfigError as error:
    ...     print("l1" in str(error))
    True
    """


class InputError(RarefyError):
    """Invalid data: the message says where, what is wrong, and what is expected.

    See Also
    --------
    ConfigError : For parameters.

    Examples
    --------
    >>> import rarefy
    >>> try:
    ...     rarefy.SparseOnlineClassifier().fit([[1.0], [float("nan")]], [0, 1])
    ... except ValueError as error:
    ...     print("NaN" in str(error))
    True
    """


class DivergenceError(RarefyError):
    """The weights diverged; the failed call leaves the model unchanged.

    A smaller `eta0`, or scaled features, help; the default rule needs neither.

    See Also
    --------
    SparseOnlineClassifier : Has `eta0`.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> X = np.full((200, 1), 1e6)
    >>> try:
    ...     rarefy.SparseOnlineRegressor("ogd", eta0=1.0).fit(X, X[:, 0])
    ... except rarefy.DivergenceError as error:
    ...     print("diverged" in str(error))
    True
    """


class ClusterError(RarefyError):
    """Other processes have failed for good; what was saved before stays.

    See Also
    --------
    InputError : For data.

    Examples
    --------
    >>> import rarefy
    >>> issubclass(rarefy.ClusterError, rarefy.RarefyError)
    True
    """


class RarefyWarning(UserWarning):
    """A problem that does not stop the program.

    See Also
    --------
    RarefyError : What does.

    Examples
    --------
    >>> import warnings, rarefy
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", rarefy.RarefyWarning)  # silences them
    """


EXPECTED = (RarefyError, OSError, MemoryError)  # whatever goes wrong without a fault of ours
NO_MEMORY = "not enough memory."


def sentence(error: BaseException) -> str:
    """What a person is told of an error."""
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, OSError):
        return f"{error.filename or 'standard output'}: {error.strerror}."
    return str(error)
