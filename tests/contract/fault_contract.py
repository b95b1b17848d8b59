"""What a bucket that is asked over a network promises of faults: subclass `FaultContract` and give it its fixtures."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from bastion.model.errors import AccessDenied, BastionError, BucketError
from bastion.model.interfaces import Bucket
from bastion.stores.create_once import create_once
from bastion.testing.fleets import until
from tests.support.faultproxy import FaultProxy, Harm, Refuse

Ask = Callable[[Bucket], object]

ASKS: dict[str, Ask] = {
    "read": lambda bucket: bucket.read("old").data,
    "create": lambda bucket: bool(bucket.create("new", b"new")),
    "write": lambda bucket: bool(bucket.write("old", b"new")),
    "replace": lambda bucket: bool(bucket.replace("old", b"new", bucket.read("old").version)),
    "delete": lambda bucket: bucket.delete(["old"]),
    "list": lambda bucket: [stat.key for stat in bucket.list("")],
}


def acquaint(bucket: Bucket, proxy: FaultProxy) -> None:
    """Have a client load all that it loads at first, however long that takes: what follows is the time of requests."""

    def answers() -> bool:
        try:
            return bool(bucket.read("old").data)
        except BucketError:
            return False

    until(answers, "the store's first answer")
    proxy.requests.clear()


LASTING = [Refuse(503, "the store is down"), Refuse(429), Harm.HANG, Harm.LOSE_REQUEST]


class FaultContract:
    """Fixtures: `proxy` stands before the store; `bucket` holds the object `old`; `hasty` is it with short limits, and
    `steady` with a short one for a request alone.
    """

    @pytest.mark.parametrize("verb", [verb for verb in ASKS if verb != "replace"])
    def test_one_call_is_one_request(self, proxy: FaultProxy, bucket: Bucket, verb: str) -> None:
        ASKS[verb](bucket)
        assert len(proxy.requests) == 1

    def test_a_listing_asks_for_a_page_when_it_is_needed(self, proxy: FaultProxy, bucket: Bucket) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: bucket.write(f"many/{number:04}", b""), range(1010)))
        proxy.requests.clear()
        stats = bucket.list("many/")
        assert len(proxy.requests) == 0
        for _ in range(1000):
            next(stats)
        assert len(proxy.requests) == 1
        assert len(list(stats)) == 10
        assert len(proxy.requests) == 2

    @pytest.mark.parametrize("fault", [Refuse(429), Refuse(503), Refuse(500), Refuse(408), Harm.LOSE_REQUEST])
    @pytest.mark.parametrize("verb", ASKS)
    def test_what_fails_for_a_moment_is_asked_again(
        self, proxy: FaultProxy, bucket: Bucket, verb: str, fault: Harm | Refuse
    ) -> None:
        want = {"read": b"old", "list": ["old"], "delete": None}.get(verb, True)
        proxy.faults.extend([fault] * 2)
        assert ASKS[verb](bucket) == want
        assert len(proxy.requests) >= 3

    @pytest.mark.parametrize("verb", ["read", "write", "delete", "list"])
    def test_a_lost_answer_is_asked_for_again(self, proxy: FaultProxy, bucket: Bucket, verb: str) -> None:
        want = {"read": b"old", "write": True, "list": ["old"], "delete": None}[verb]
        proxy.faults.append(Harm.LOSE_ANSWER)
        assert ASKS[verb](bucket) == want
        assert len(proxy.requests) == 2

    @pytest.mark.parametrize("verb", ["read", "list"])
    def test_half_an_answer_is_no_answer(self, proxy: FaultProxy, bucket: Bucket, verb: str) -> None:
        proxy.faults.append(Harm.CUT_ANSWER)
        assert ASKS[verb](bucket) == {"read": b"old", "list": ["old"]}[verb]
        assert len(proxy.requests) == 2

    def test_a_create_whose_answer_was_lost_is_refused_by_its_own_object(
        self, proxy: FaultProxy, bucket: Bucket
    ) -> None:
        proxy.faults.append(Harm.LOSE_ANSWER)
        assert bucket.create("new", b"mine") is None
        assert bucket.read("new").data == b"mine"

    def test_create_once_settles_a_lost_answer_as_ours(self, proxy: FaultProxy, bucket: Bucket) -> None:
        proxy.faults.append(Harm.LOSE_ANSWER)
        once = create_once(bucket, "new", b"nonce 1")
        assert (once.mine, once.stored, once.version) == (True, b"nonce 1", bucket.read("new").version)

    def test_create_once_knows_another_ones_object(self, proxy: FaultProxy, bucket: Bucket) -> None:
        version = bucket.create("new", b"nonce 2")
        proxy.faults.append(Harm.LOSE_REQUEST)
        once = create_once(bucket, "new", b"nonce 1")
        assert (once.mine, once.stored, once.version) == (False, b"nonce 2", version)

    def test_a_swap_whose_answer_was_lost_is_refused_by_its_own_object(self, proxy: FaultProxy, bucket: Bucket) -> None:
        version = bucket.read("old").version
        proxy.faults.append(Harm.LOSE_ANSWER)
        assert bucket.replace("old", b"mine", version) is None
        assert bucket.read("old").data == b"mine"

    def test_a_collision_is_no_answer_but_asked_again(self, proxy: FaultProxy, bucket: Bucket) -> None:
        proxy.faults.append(Refuse(409))
        assert bucket.create("new", b"mine") is not None

    def test_a_silent_store_is_asked_again_after_the_requests_limit(self, proxy: FaultProxy, steady: Bucket) -> None:
        proxy.faults.append(Harm.HANG)
        assert steady.read("old").data == b"old"
        assert len(proxy.requests) >= 2

    @pytest.mark.parametrize("fault", LASTING)
    @pytest.mark.parametrize("verb", ["create", "read"])
    def test_what_fails_for_long_ends_as_a_failure_with_the_key(
        self, proxy: FaultProxy, hasty: Bucket, verb: str, fault: Harm | Refuse
    ) -> None:
        proxy.always = fault
        with pytest.raises(BucketError, match=r"(new|old)'.*try again when the store answers") as told:
            ASKS[verb](hasty)
        assert type(told.value) is BucketError
        assert len(proxy.requests) >= 2
        assert len(str(told.value).splitlines()) == 1

    def test_a_failing_store_does_not_keep_a_long_delete_going(self, proxy: FaultProxy, hasty: Bucket) -> None:
        proxy.always = Refuse(503)
        with pytest.raises(BucketError):
            hasty.delete(f"many/{number}" for number in range(1000))
        asked = {request.partition("?")[0] for request in proxy.requests}
        assert len(asked) < 200

    @pytest.mark.parametrize("verb", ASKS)
    def test_a_missing_right_is_told_in_the_stores_words_and_not_asked_again(
        self, proxy: FaultProxy, bucket: Bucket, verb: str
    ) -> None:
        proxy.always = Refuse(403, "ann@example.com does not have storage.objects.do access")
        with pytest.raises(AccessDenied, match=r"(new|old|'').*storage\.objects\.do") as told:
            ASKS[verb](bucket)
        assert len(proxy.requests) == 1
        assert len(str(told.value).splitlines()) == 1

    @pytest.mark.parametrize("verb", ASKS)
    def test_a_refused_request_is_a_failure_and_not_asked_again(
        self, proxy: FaultProxy, bucket: Bucket, verb: str
    ) -> None:
        proxy.always = Refuse(400, "bad request")
        with pytest.raises(BucketError, match="bad request"):
            ASKS[verb](bucket)
        assert len(proxy.requests) == 1

    def test_bad_keys_cost_no_request(self, proxy: FaultProxy, bucket: Bucket) -> None:
        asks: list[Callable[[], object]] = [
            partial(bucket.read, ".."),
            partial(bucket.write, "", b""),
            partial(bucket.list, "../"),
        ]
        for ask in asks:
            with pytest.raises(BastionError):
                ask()
        assert proxy.requests == []
