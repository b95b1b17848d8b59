"""moto's S3 server as a program, one request at a time: `python -m tests.support.s3_program PORT`.

Moto looks at an object and writes it in two steps without a lock. So of many creators of one object two may win there,
which no real S3 allows, and which our own check of a store rightly refuses.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from threading import Lock
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple


def in_turn(app: Any) -> Any:
    """The same WSGI application, whose requests come one after the other; bodies are read and sent outside the turn."""
    turn = Lock()

    def application(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        if size := int(environ.get("CONTENT_LENGTH") or 0):
            environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(size))
        with turn:
            return list(app(environ, start))

    return application


if __name__ == "__main__":
    moto = in_turn(DomainDispatcherApplication(create_backend_app))
    run_simple("127.0.0.1", int(sys.argv[1]), moto, threaded=True, request_handler=MotoRequestHandler)
