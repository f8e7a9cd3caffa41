"""Every error that rarefy raises on purpose; all of them are ValueErrors, as scikit-learn's are."""


class RarefyError(ValueError):
    """Base of all errors of this library."""


class ConfigError(RarefyError):
    """A parameter, or a combination of parameters, that is not valid."""


class InputError(RarefyError):
    """Invalid data: the message says where, what is wrong, and what is expected."""


class DivergenceError(RarefyError):
    """The weights diverged; the failed call leaves the model unchanged."""


class RarefyWarning(UserWarning):
    """A problem that does not stop the program."""


EXPECTED = (RarefyError, OSError, MemoryError)  # whatever goes wrong without a fault of ours
NO_MEMORY = "not enough memory; try fewer --bits or a smaller --capacity."


def sentence(error: BaseException) -> str:
    """What a person is told of an error."""
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, OSError):
        return f"{error.filename or 'standard output'}: {error.strerror}."
    return str(error)
