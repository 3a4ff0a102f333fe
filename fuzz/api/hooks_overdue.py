"""Extends Schemathesis for the Overdue API: uses resources that exist, sends different credentials, and counts every
response. Whether a response is right is decided by Schemathesis."""

import atexit
import json
import os
import random

import requests
import schemathesis

HOUSEKEEPING_SECONDS_MAX = 30

with open(os.environ["OVERDUE_FUZZ_WORLD"], encoding="utf-8") as file:
    WORLD = json.load(file)

chance = random.Random(WORLD["seed"])
answers = {}
housekeeping = requests.Session()
housekeeping.trust_env = False
housekeeping.headers["Authorization"] = "Bearer " + WORLD["tokens"]["admin"]

# They would end the run: the account, the project, or the credentials that all requests need.
ENDING = set(WORLD["ending"])


def one_in(times):
    return chance.randrange(times) == 0


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw["operationId"]
    is_sequence = case.meta is not None and case.meta.phase.name == "stateful"
    if not is_sequence:
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


def drop_controls(case):
    """A header with control characters is not HTTP, and is rejected before any operation."""
    for name, value in case.headers.items():
        if isinstance(value, str):
            case.headers[name] = "".join(one for one in value if one == "\t" or one >= " " and one != "\x7f")


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


UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


def spare(path, body):
    """Something that may be deleted; an unknown id if the project already has as many as allowed."""
    made = housekeeping.post(f"{WORLD['api']}/{path}", json=body, timeout=HOUSEKEEPING_SECONDS_MAX).json()
    return made.get("channel", made).get("id", UNKNOWN_ID)


@schemathesis.hook
def after_call(context, case, response):
    operation = case.operation.definition.raw["operationId"]
    is_valid = case.meta is None or case.meta.generation.mode.is_positive
    is_meant = case.method.upper() == case.operation.method.upper()
    label = operation if is_meant else "other methods"
    counts = answers.setdefault(label, {}).setdefault(str(response.status_code), {"valid": 0, "broken": 0})
    counts["valid" if is_valid else "broken"] += 1


@atexit.register
def tell():
    with open(os.environ["OVERDUE_FUZZ_ANSWERS"], "w", encoding="utf-8") as file:
        json.dump(answers, file)
