"""Extends Schemathesis for the Overdue API: uses resources that exist, sends different credentials, and counts every
response. Whether a response is right is decided by Schemathesis."""

import schemathesis
from fuzzing import (
    HOUSEKEEPING_SECONDS_MAX,
    WORLD,
    chance,
    count,
    drop_controls,
    housekeeping,
    is_sequence,
    one_in,
    operation_of,
)

housekeeping.headers["Authorization"] = "Bearer " + WORLD["tokens"]["admin"]

# They would end the run: the account, the project, or the credentials that all requests need.
ENDING = set(WORLD["ending"])
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = operation_of(case)
    if not is_sequence(case):
        place_parameters(case)
    if operation == "deleteProject" and isinstance(case.path_parameters, dict):
        case.path_parameters["project"] = spare("projects", {"name": "Spare"})
    if operation == "deleteCheck" and isinstance(case.path_parameters, dict):
        case.path_parameters["check"] = spare("projects/" + WORLD["ids"]["project"][0] + "/checks", {"name": "Spare"})
    if operation == "deleteChannel" and isinstance(case.path_parameters, dict):
        body = {"kind": "ntfy", "config": {"topic": "spare"}}
        case.path_parameters["channel"] = spare("projects/" + WORLD["ids"]["project"][0] + "/channels", body)
    if isinstance(case.body, dict):
        case.body = plausible_body(case.body)
    place_credentials(case, operation)
    drop_controls(case)


def place_parameters(case):
    if not isinstance(case.path_parameters, dict):
        return
    for name in case.path_parameters:
        known = WORLD["ids"].get(name)
        if known and not one_in(8):
            case.path_parameters[name] = chance.choice(known)


def place_credentials(case, operation):
    if case.headers is None:
        case.headers = {}
    for name in [*case.headers]:
        if name.lower() in ("x-api-key", "authorization", "cookie"):
            del case.headers[name]
    if case.cookies:
        case.cookies.clear()
    if operation in ENDING:
        case.headers["Authorization"] = "Bearer " + WORLD["tokens"]["read"]
    elif not one_in(6):
        case.headers["Authorization"] = "Bearer " + WORLD["tokens"]["admin"]
    else:
        other = chance.choice(
            [
                {"Authorization": "Bearer " + WORLD["tokens"]["read"]},
                {"X-Api-Key": WORLD["keys"]["readWrite"]},
                {"X-Api-Key": WORLD["keys"]["readOnly"]},
                {"X-Api-Key": WORLD["keys"]["stranger"]},
                {"X-Api-Key": WORLD["keys"]["unknown"]},
                {"Authorization": "Bearer unknown"},
                {},
            ]
        )
        case.headers.update(other)


def plausible_body(body):
    """Texts with rules that a schema cannot express are valid in most bodies."""
    changed = dict(body)
    for field, texts in WORLD["texts"].items():
        if isinstance(body.get(field), str) and not one_in(5):
            changed[field] = chance.choice(texts)
    for field, name in (("ids", "check"), ("account", "account"), ("project", "project"), ("channel", "channel")):
        if field in body and not one_in(5):
            known = WORLD["ids"][name]
            changed[field] = [chance.choice(known)] if isinstance(body[field], list) else chance.choice(known)
    return changed


def spare(path, body):
    """Something that may be deleted; an unknown id if the project already has as many as allowed."""
    made = housekeeping.post(f"{WORLD['api']}/{path}", json=body, timeout=HOUSEKEEPING_SECONDS_MAX).json()
    return made.get("channel", made).get("id", UNKNOWN_ID)


@schemathesis.hook
def after_call(context, case, response):
    count(case, response)
