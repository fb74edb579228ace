"""moto's server, one request at a time: two at once lose each other's updates.

usage: moto_in_turn.py PORT     with the Python of install.py
"""

import sys
import threading

from moto.moto_server.werkzeug_app import (DomainDispatcherApplication, MotoRequestHandler,
                                           create_backend_app)
from werkzeug.serving import run_simple


class InTurn:
    def __init__(self, application):
        self.application, self.lock = application, threading.Lock()

    def __call__(self, environ, start_response):
        with self.lock:
            return list(self.application(environ, start_response))


run_simple("127.0.0.1", int(sys.argv[1]), InTurn(DomainDispatcherApplication(create_backend_app)),
           threaded=True, request_handler=MotoRequestHandler)
