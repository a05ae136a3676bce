"""What happens: publishing, the matcher, feeds. No HTTP in here, and no SQL."""

from tamis.service.answers import (
    Acknowledged,
    Explained,
    Extended,
    Feed,
    Gap,
    Lease,
    Loaded,
    Matched,
    Notification,
    Page,
    Published,
    Rejected,
    Staged,
    Subscribed,
    Subscription,
    Tried,
)
from tamis.service.requests import Done, FeedSettings, Form, NewSubscription, Publishing
from tamis.service.service import Service, Tail, Watch
from tamis.service.settings import Settings

__all__ = [
    "Acknowledged",
    "Done",
    "Explained",
    "Extended",
    "Feed",
    "FeedSettings",
    "Form",
    "Gap",
    "Lease",
    "Loaded",
    "Matched",
    "NewSubscription",
    "Notification",
    "Page",
    "Published",
    "Publishing",
    "Rejected",
    "Service",
    "Settings",
    "Staged",
    "Subscribed",
    "Subscription",
    "Tail",
    "Tried",
    "Watch",
]
