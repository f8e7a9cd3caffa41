"""Checkpoints of a training, regular and on interruption."""

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, count

from rarefy.errors import EXPECTED, InputError, sentence
from rarefy.system.atomic_write import Output, fitting_name, is_descriptor, is_written_once
from rarefy.training.plan import Plan

UNFINISHED = ".unfinished"  # behind the name of a file that stays as it is


class Checkpoints:
    """Writes the model of a plan to its place, found to be good before anything is learned.

    A model that an error left unfinished does not replace a file that this run has not written. It
    goes to a new one, beside it, or, where none can be made, in the temporary folder.
    """

    def __init__(self, plan: Plan, output: Output | None = None) -> None:
        assert plan.path is not None
        self._plan, self._path = plan, plan.path
        self.save_every: int | None = plan.settings["save_every"]
        self._is_own = not _is_file(plan.path) or _is_same(plan.path, plan.resumed)
        self._n_before = plan.run.model.t
        self._n_saved = 0  # examples that the file has learned
        self._is_finished = False
        if self.save_every is not None and is_written_once(plan.path):
            raise InputError(
                f"{plan.path} is a pipe, which cannot be written twice: name a file, or leave out "
                f"--save-every."
            )
        self.output = output or Output(plan.path)

    def save(self, *, is_finished: bool = False) -> int:
        """Write the model as it is now; how many bytes that were."""
        self._is_finished = is_finished
        n_bytes = self._plan.save(self.output, slim=self._is_slim)
        self._is_own, self._n_saved = True, self._plan.run.model.t
        return n_bytes

    @property
    def _is_slim(self) -> bool:
        return self._is_finished and (self._plan.slim or self._plan.refit is not None)

    def save_meanwhile(self, warn: Callable[[str], None]) -> None:
        """Write the model, if possible; if not, learning goes on."""
        if not self.output.can_be_written_again:
            return
        try:
            self.save()
        except EXPECTED as error:
            warn(f"{sentence(error)} Training continues.")

    def after(self, error: BaseException) -> str:
        """Save what was learned before an error; what there is to say of it, and of the error."""
        run, path, said = self._plan.run, self._path, sentence(error)
        if run.is_whole and run.model.t > max(self._n_before, self._n_saved):
            try:
                path = self._save_unfinished()
            except EXPECTED as another:
                said += f"\nWhat was learned before the error cannot be saved: {sentence(another)}"
            else:
                self._n_saved = run.model.t
        if self._n_saved == 0:
            return said
        said += f"\nWhat was learned before the error is in {path} (examples: {self._n_saved:,})."
        if self._is_finished and self._n_saved == run.model.t:
            return f"{said} The model is finished; just move the file."
        return f"{said} To continue after fixing the error: {self._plan.command_to_go_on(path)}"

    def after_the_end(self, error: BaseException) -> str:
        """What there is to say of an error that comes when the finished model is saved."""
        return (
            f"{sentence(error)}\nThe model is finished, and saved in {self._path}; only what is to "
            f"be said of it at the end is missing, like figures of held-out rows."
        )

    def _save_unfinished(self) -> str:
        """Write what an error has left, at the first place where that is possible; where it is."""
        errors = []
        for make_output in self._outputs():
            try:
                output = make_output()
                self._plan.save(output, slim=self._is_slim)
                return output.path
            except EXPECTED as error:
                errors.append(error)
        raise errors[0]

    def _outputs(self) -> Iterator[Callable[[], Output]]:
        if self._is_own:
            yield lambda: self.output
        if not is_descriptor(self._path):
            folder, name = os.path.split(self._path)
            yield partial(_new_output, folder, name)
            yield partial(_new_output, tempfile.gettempdir(), name)

    def how_to_go_on(self) -> str:
        """What to say of a run that was interrupted, and saved."""
        path, command = self.output.path, self._plan.command_to_go_on
        if self.output.can_be_written_again:
            return f"Interrupted, and saved. To continue: {command(path)}"
        return (
            f"Interrupted; the model was written to {path}. To continue, save it to a file and "
            f"run: "
            f"{command('MODEL')}"
        )


def _is_file(path: str) -> bool:
    """Whether something is there that a model would replace, not be added to."""
    return os.path.isfile(path) and not is_descriptor(path)


def _is_same(path: str, resumed: str | None) -> bool:
    return resumed is not None and os.path.samefile(path, resumed)


def _new_output(folder: str, name: str) -> Output:
    """A place in a folder for what must not replace anything."""
    endings = chain([UNFINISHED], (f"{UNFINISHED}-{n}" for n in count(2)))
    paths = (os.path.join(folder, fitting_name(folder or ".", name, end)) for end in endings)
    return Output(next(path for path in paths if not os.path.lexists(path)))
