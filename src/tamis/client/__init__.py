"""Client and AsyncClient: the Engine's remote twins, over HTTP. They need the extra `client`, which is httpx alone.

    client = tamis.Client("http://127.0.0.1:8737")
    client.subscribe("ann", "category = 'table' and price < 200")
    client.publish({"category": "table", "price": 150})
    for notification in client.listen("ann"):
        print(notification.event, notification.subscriptions)

Errors are those of the library, with its sentences. A call that got no answer is sent again, which is safe: what it
changes, it changes once.
"""

try:
    import httpx as _  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("tamis.Client needs httpx: pip install 'tamis[client]'", name="httpx") from error

from tamis.client.answers import Feed, Gap, Loaded, Notification, Page, Published, Subscribed, Tried
from tamis.client.awaiting import AsyncClient
from tamis.client.blocking import Client

__all__ = [
    "AsyncClient",
    "Client",
    "Feed",
    "Gap",
    "Loaded",
    "Notification",
    "Page",
    "Published",
    "Subscribed",
    "Tried",
]
