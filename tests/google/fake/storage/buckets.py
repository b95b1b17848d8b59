"""Cloud Storage, as far as another server does not stand for it: who may do what in a bucket."""

from __future__ import annotations

from dataclasses import replace

from tests.google.fake.cloud import Answer, Call, answers
from tests.google.fake.iam import policy_of, set_policy

_B = "storage.buckets."


@answers(f"{_B}getIamPolicy")
def _policy(call: Call) -> Answer:
    return policy_of(call, f"buckets/{call.text('bucket')}")


@answers(f"{_B}setIamPolicy")
def _set_policy(call: Call) -> Answer:
    return set_policy(replace(call, body={"policy": call.body}), f"buckets/{call.text('bucket')}")
