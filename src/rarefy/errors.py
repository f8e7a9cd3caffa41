"""Every error that rarefy raises on purpose; all of them are ValueErrors, as scikit-learn's are."""


class RarefyError(ValueError):
    """Base of all errors of this library."""


class ConfigError(RarefyError):
    """A parameter, or a combination of parameters, that has no meaning."""


class InputError(RarefyError):
    """Data that cannot be learned from: the message says where, what, and what is accepted."""


class DivergenceError(RarefyError):
    """The weights grew without bound; nothing that was learned in the failed call is kept."""


class RarefyWarning(UserWarning):
    """Something is not as it should be, and was dealt with."""
