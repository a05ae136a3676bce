"""The adaptive engine: subscriptions compiled into immutable segments of bitmaps and clusters.

    texts ──reading──▶ constraints ──coding──▶ intervals of integers ──homes──▶ blocks and clusters ──▶ segment
    events ──events──▶ columns ──encoding──▶ codes ──matching──▶ rows ──▶ ids

`collection` keeps the segments, the delta and the dead; `docs/algorithms/adaptive.md` tells the idea.
"""
