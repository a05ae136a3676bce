"""The HTTP door: routes, bodies, problems, limits. A route parses, calls the service, renders; nothing is decided here.

Importing this loads no web framework: `tamis serve --help` must not wait for one.
"""
