"""Every error that rarefy raises on purpose; all of them are ValueErrors, as scikit-learn's are."""


class RarefyError(ValueError):
    """Base of all errors of this library."""


class ConfigError(RarefyError):
    """A parameter, or a combination of parameters, that is not valid."""


class InputError(RarefyError):
    """Data that cannot be learned from: the message says where, what, and what is accepted."""


class DivergenceError(RarefyError):
    """The weights grew without bound; nothing that was learned in the failed call is kept."""


class RarefyWarning(UserWarning):
    """Something is not as it should be, and was dealt with."""


EXPECTED = (RarefyError, OSError, MemoryError)  # whatever goes wrong without a fault of ours
NO_MEMORY = "not enough memory; try fewer --bits or a smaller --capacity."


def sentence(error: BaseException) -> str:
    """What a person is told of an error."""
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, OSError):
        return f"{error.filename or 'standard output'}: {error.strerror}."
    return str(error)
