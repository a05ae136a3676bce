"""The adaptive engine: subscriptions compiled into immutable segments of bitmaps and clusters.

    compile/   texts ──reading──▶ pieces ──coding──▶ intervals of codes ──homes──▶ accesses, blocks ──layout──▶ Layout
    ask/       columns ──encoding──▶ codes ──listing──▶ rows ──answering──▶ each subscription once
               one event ──plain, one_event──▶ codes ──▶ rows
    keep/      a segment ──segment_file──▶ one file, many and a log ──folder──▶ a folder that survives

`segment` is a layout with its ids and texts; `subscriptions` keeps segments, the delta and the dead, `merging` fewer of
them; `collection` is asked. `docs/algorithms/adaptive.md` tells the idea, `docs/glossary.md` walks through a small one.
"""
