"""One request on its way: found, checked by Google's schema, counted, allowed, answered; and the answer checked, too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from traceback import format_exc
from typing import Any
from urllib.parse import parse_qs

from tests.google.fake import oauth, rights
from tests.google.fake.cloud import ANSWERS, Answer, Call, Cloud
from tests.google.fake.compute.compute import set_up
from tests.google.fake.discovery import VERSIONS, Method, Service, service
from tests.google.fake.fields import only
from tests.google.fake.refusals import Refusal, info, violations
from tests.google.fake.schema import Complaint, Reading, complaints

_UPDATES = ("patch", "update")
_AGAIN_S = 3600.0


@dataclass(frozen=True, slots=True)
class Request:
    """What came in. `path` begins with the service's name; `query` holds all values of each name."""

    verb: str
    path: str
    query: Mapping[str, Sequence[str]]
    body: bytes
    token: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as the fake remembers it."""

    at: float
    method: str
    parameters: Mapping[str, Any]
    body: Answer
    account: str
    code: int


class CutError(Exception):
    """The connection is cut without an answer."""


@dataclass(slots=True)
class Desk:
    """Answers requests. `mistakes`: requests that do not fit Google's schemas; `crashes`: faults of the fake itself.

    `fit`: parts of its answers, by service, that are known to fit their schemas.
    """

    cloud: Cloud
    asked: list[Asked] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    fit: dict[str, dict[tuple[int, str], object]] = field(default_factory=dict)

    def answer(self, request: Request) -> tuple[int, Answer]:
        """Status and body. Raises `CutError`."""
        name, _, path = request.path.lstrip("/").partition("/")
        account = self.cloud.account
        if name == "as":
            account, name, path = [*path.split("/", 2), "", ""][:3]
        with self.cloud.clock.lock:
            try:
                if name == "oauth2":
                    return oauth.answer(self.cloud, path, _form(request))
                return 200, self._serve(name, path, request, account)
            except Refusal as refusal:
                return refusal.code, refusal.body(name)
            except CutError:
                raise
            except Exception:
                self.crashes.append(format_exc())
                return 500, Refusal(500, f"The fake crashed: {format_exc()}").body(name)

    def _serve(self, name: str, path: str, request: Request, account: str) -> Answer:
        if name not in VERSIONS:
            raise self._mistake(f"{request.verb} {request.path}: the fake has no service {name!r}")
        api = service(name)
        found = api.find(request.verb, path.removeprefix(api.path) if api.path else path)
        if not path.startswith(api.path) or not found:
            word = "has no such verb" if api.knows(path.removeprefix(api.path)) else "is unknown"
            raise self._mistake(f"{request.verb} {request.path}: this path {word}")
        method, inner = found
        account = self._who(request, account)
        parameters: dict[str, Any] = dict(inner)
        body: Answer = {}
        code = 200
        try:
            parameters |= self._parameters(api, method, inner, request.query)
            body = self._body(api, method, request.body)
            return self._do(api, Call(self.cloud, method, parameters, body, account))
        except Refusal as refusal:
            code = refusal.code
            raise
        except CutError:
            code = 0
            raise
        finally:
            self.asked.append(Asked(self.cloud.clock.now, method.id, parameters, body, account, code))

    def _do(self, api: Service, call: Call) -> Answer:
        cloud, method = self.cloud, call.method
        cloud.rates.count(cloud.clock.now, api.name, method, dict(call.parameters))
        if plan := cloud.faults.next(method.id, "drop", "fail", "late"):
            if plan.kind == "drop":
                raise CutError
            if plan.kind == "late":
                cloud.clock.after(plan.after_s, lambda: self._late(api, call))
            raise Refusal(plan.code, plan.message or "The service is currently unavailable.", reason=plan.reason)
        answer = self._effect(api, call)
        if cloud.faults.next(method.id, "lose"):
            raise CutError
        return only(str(call.parameters.get("fields", "")), answer)

    def _late(self, api: Service, call: Call) -> None:
        try:
            self._effect(api, call)
        except Refusal:
            pass  # nobody listens any more
        except Exception:
            self.crashes.append(format_exc())

    def _effect(self, api: Service, call: Call) -> Answer:
        cloud, method = self.cloud, call.method
        if f"{api.name}.googleapis.com" in cloud.faults.disabled:
            raise _disabled(api.name, call.project)
        rights.check(call)
        key = (method.id, call.project, call.text("requestId"))
        if key[2] and key in cloud.answered and cloud.clock.now - cloud.answered[key][0] < _AGAIN_S:
            return cloud.answered[key][1]
        if method.id not in ANSWERS:
            raise Refusal(501, f"The fake does not do {method.id}.")
        set_up(cloud, call.project)
        answer = ANSWERS[method.id](call)
        if wrong := self._complaints_of(api, method, answer):
            self.crashes.append(f"{method.id}: the fake's answer does not fit: {wrong} in {json.dumps(answer)[:2000]}")
            raise Refusal(500, self.crashes[-1])
        if key[2]:
            cloud.answered[key] = (cloud.clock.now, answer)
        return answer

    def _complaints_of(self, api: Service, method: Method, answer: Answer) -> list[Complaint]:
        """What of an answer of ours does not fit."""
        if not method.response:
            return [Complaint("value", "", "there is to be no answer")] if answer else []
        reading = Reading(api.schemas, answer=True, fit=self.fit.setdefault(api.name, {}))
        return list(complaints(answer, api.schemas[method.response], reading))

    def _who(self, request: Request, account: str) -> str:
        """The account that asks. Raises `Refusal` if it has no (good) credentials."""
        known = self.cloud.tokens.get(request.token, "") if request.token else account
        if known and not self.cloud.faults.expired:
            return known
        text = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other"
        text += " valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
        detail = info(
            "ACCESS_TOKEN_EXPIRED" if self.cloud.faults.expired else "ACCESS_TOKEN_TYPE_UNSUPPORTED", "googleapis.com"
        )
        raise Refusal(401, text, reason="authError", details=[detail])

    def _parameters(
        self, api: Service, method: Method, inner: Mapping[str, str], query: Mapping[str, Sequence[str]]
    ) -> dict[str, Any]:
        """All parameters, as values of their types."""
        known = {**api.parameters, **method.parameters}
        for name in query.keys() - known.keys():
            raise self._mistake(f'{method.id}: Invalid JSON payload received. Unknown name "{name}": not a parameter.')
        for name, said in method.parameters.items():
            if said.get("required") and name not in inner and name not in query:
                raise self._mistake(f"{method.id}: Required parameter: {name}", reason="required")
        texts = {name: [value] for name, value in inner.items()} | {
            name: list(values) for name, values in query.items()
        }
        values = {name: _typed(texts[name], known[name]) for name in texts}
        for name, value in values.items():
            listed = {"type": "array", "items": known[name]} if known[name].get("repeated") else known[name]
            wrong = [f"Invalid value for {name}: {one.text}" for one in complaints(value, listed, Reading(api.schemas))]
            if wrong:
                raise self._mistake(f"{method.id}: {'; '.join(wrong)}")
        return values

    def _body(self, api: Service, method: Method, sent: bytes) -> Answer:
        """The body, read by its schema."""
        if not method.request:
            if sent.strip() not in (b"", b"{}"):
                raise self._mistake(f"{method.id}: the request body must be empty")
            return {}
        try:
            body = json.loads(sent or b"{}")
        except ValueError as error:
            raise self._mistake(f"{method.id}: Invalid JSON payload received. {error}") from error
        creates = method.verb == "POST" and method.verb_name not in _UPDATES and not method.verb_name.startswith("set")
        reading = Reading(api.schemas, method.id, creates=creates, given=frozenset(method.parameters))
        if wrong := list(complaints(body, api.schemas[method.request], reading)):
            raise self._mistake(f"{method.id}: {'; '.join(map(_said, wrong))}", details=[_violations(wrong)])
        return dict(body)

    def _mistake(self, text: str, **more: Any) -> Refusal:
        """A request that Google's schema does not know: 400, and remembered."""
        self.mistakes.append(text)
        return Refusal(400, text, **more)


def _form(request: Request) -> dict[str, str]:
    """What a request says in its URL and, as forms do, in its body."""
    return {name: values[-1] for name, values in {**request.query, **parse_qs(request.body.decode())}.items()}


def _typed(texts: Sequence[str], said: Mapping[str, Any]) -> Any:
    """Texts of a URL as JSON's values; what cannot be read stays a text, and will be complained of."""
    values = [_one(text, said.get("type", "string")) for text in texts]
    return values if said.get("repeated") else values[-1]


def _one(text: str, kind: str) -> Any:
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    if kind == "integer" and text.lstrip("-").isdigit():
        return int(text)
    return text


def _said(one: Complaint) -> str:
    if one.kind == "unknown":
        at = f" at '{one.where}'" if one.where else ""
        return f'Invalid JSON payload received. Unknown name "{one.text}"{at}: Cannot find field.'
    return f"Invalid value for field '{one.where}': {one.text}"


def _violations(wrong: Sequence[Complaint]) -> dict[str, Any]:
    return violations(*((one.where, _said(one)) for one in wrong))


def _disabled(name: str, project: str) -> Refusal:
    host = f"{name}.googleapis.com"
    page = f"https://console.developers.google.com/apis/api/{host}/overview?project={project}"
    text = f"{host} has not been used in project {project} before or it is disabled. Enable it by visiting {page} then retry."
    detail = info("SERVICE_DISABLED", "googleapis.com", service=host, consumer=f"projects/{project}")
    return Refusal(403, text, reason="accessNotConfigured", details=[detail])
