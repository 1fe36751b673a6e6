import pytest

from klamm.quota.rate import Rate
from klamm.quota.token_bucket import TokenBucket

KILO = 1000.0


def test_what_stays_within_its_bound_never_waits() -> None:
    rate = Rate(11, 1000)

    for second in range(100):
        rate.record(KILO, second * 1000)
        assert rate.wait_ms(KILO * 1.1, second * 1000) == 0


def test_a_burst_is_paid_for_with_silence() -> None:
    rate = Rate(11, 1000)

    rate.record(30 * KILO, 0)

    assert rate.wait_ms(KILO, 0) == 20_000


def test_who_waits_as_told_goes_at_the_bound() -> None:
    rate = Rate(11, 1000)
    now = sent = 0
    while now < 60_000:
        rate.record(5 * KILO, now)
        sent += 5000
        now += max(1, rate.wait_ms(KILO, now))

    assert 0.9 < sent / now < 1.3


def test_what_was_long_ago_is_forgotten() -> None:
    rate = Rate(11, 1000)
    rate.record(30 * KILO, 0)

    assert rate.wait_ms(KILO, 11_000) == 0
    assert rate.is_idle(11_000)


def test_a_bucket_gives_a_seconds_worth_and_fills_again() -> None:
    bucket = TokenBucket(5, 0)

    assert [bucket.take(5, 0) for _ in range(6)] == [True] * 5 + [False]
    assert bucket.take(5, 200)
    assert not bucket.take(5, 200)
    assert bucket.is_full(5, 2000)


@pytest.mark.parametrize("bound", [5e-324, 1e-9])
def test_the_longest_pause_still_fits_into_an_answer(bound: float) -> None:
    rate = Rate(11, 1000)
    rate.record(1e9, 0)

    assert rate.wait_ms(bound, 0) == 2**31 - 1
