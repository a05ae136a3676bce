"""What a session of ours is set to."""

from __future__ import annotations

from tamis.spark.running.sessions import LOCAL_SETTINGS, SETTINGS


def test_the_page_of_a_job_is_there_to_be_looked_at() -> None:
    assert "spark.ui.enabled" not in {*SETTINGS, *LOCAL_SETTINGS}
