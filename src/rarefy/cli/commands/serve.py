"""`rarefy serve`."""

import click

from rarefy.cli import signals
from rarefy.cli.option_types import Rate
from rarefy.errors import ConfigError


class _Stopping:
    """Lets signals end the service in good order."""

    def __init__(self) -> None:
        self.running: object = None
        self.number: int | None = None

    def note(self, number: int) -> bool:
        if self.running is None:
            return False
        self.number = number
        self.running.stop()  # type: ignore[attr-defined]
        return True

    def wake(self, number: int) -> None:
        """While the loop runs, only this is called."""
        self.note(number)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8080,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 for any that is free.",
)
@click.option("--open", "is_open", is_flag=True, help="Ask for no token: anyone may do anything.")
@click.option(
    "--checkpoint-seconds",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0.01),
    help="Seconds between snapshots of a model that learns.",
)
@click.option(
    "--keep-days",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0.0),
    help="Number of days to keep entries of the log.",
)
@click.option("--keep-bytes", type=click.IntRange(0), help="Largest log of a model.")
@click.option("--max-body", type=click.IntRange(1), help="Largest body of a request, in bytes.")
@click.option("--max-rows", type=click.IntRange(1), help="Most rows of a request.")
@click.option("--max-models", type=click.IntRange(1), help="Most models.")
@click.option(
    "--promote",
    type=Rate(),
    help="Promote challengers that are better by more than chance, if no larger rate of answers is "
    "lost: 0.5% or 0.005.",
)
@click.option("--demo", is_flag=True, help="Feed made-up events to a model called demo.")
@click.option("--access-log", is_flag=True, help="Log each request: route, status and time.")
def serve(
    folder: str,
    host: str,
    port: int,
    is_open: bool,
    checkpoint_seconds: float,
    keep_days: float,
    keep_bytes: int | None,
    max_body: int | None,
    max_rows: int | None,
    max_models: int | None,
    promote: float | None,
    demo: bool,
    access_log: bool,
) -> None:
    """Serve the models in FOLDER over HTTP, to predict and learn.

    A request to learn is answered when its rows are on disk. After a crash, the models are what
    they would have been. FOLDER/NAME.model, as from `rarefy train`, is served as NAME; it is loaded
    again when it changes. /docs on that port lists all requests.

    \b
    Examples:
      rarefy serve models
      curl -X PUT localhost:8080/models/spam -d '{"classes": ["ham", "spam"], "text": ["words"]}'
      curl localhost:8080/models/spam/learn -d '{"words": "win a prize", "label": "spam"}'
    """
    try:
        from rarefy.serving.demo_stream import DemoStream
        from rarefy.serving.housekeeper import Housekeeper
        from rarefy.serving.limits import Limits
        from rarefy.serving.process import Running, set_up_logs
        from rarefy.serving.service import Service
    except ImportError as error:
        raise ConfigError(f"serving needs `pip install rarefy[serve]` ({error}).") from error
    given = {"body_bytes": max_body, "rows": max_rows, "models": max_models}
    limits = Limits()._replace(**{n: value for n, value in given.items() if value is not None})
    set_up_logs(with_requests=access_log)
    service = Service(folder, limits, checkpoint_seconds=checkpoint_seconds)
    housekeeper = Housekeeper(
        service, keep_days=keep_days, keep_bytes=keep_bytes, promote_within=promote
    )
    stopping = _Stopping()
    signals.listen(stopping)
    running = Running(service, host, port, housekeeper=housekeeper, is_open=is_open)
    stopping.running = running
    serves = f"serves {_number_of(len(service.served_models), 'model')}"
    if service.loading:
        serves += f", and is loading {_number_of(len(service.loading), 'file')}"
    click.echo(f"http://{host}:{running.port} {serves}.", err=True)
    events = DemoStream(service) if demo else None
    if events is not None:
        events.start()
    running.serve(before_end=() if events is None else (events.close,))


def _number_of(n: int, things: str) -> str:
    return f"{n} {things}" if n == 1 else f"{n} {things}s"
