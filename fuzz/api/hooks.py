"""Extends Schemathesis: uses existing checks, pings, keys and schedules in generated requests, keeps the number of
checks bounded, and counts every response. Schemathesis decides whether a response is right."""

import atexit
import collections
import json
import sys
from urllib.parse import quote

import requests
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

# Checks that were created during the run; beyond this many the oldest is deleted, so that lists stay short.
SPARE_MAX = 40
TAGS_REMEMBERED_MAX = 2_000

# Resources that every round needs must not be deleted, whichever identifier is used.
LASTING = {check["uuid"] for check in WORLD["checks"]}

spare = collections.deque()
etags = {}
housekeeping.headers["X-Api-Key"] = WORLD["keys"]["readWrite"]


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = operation_of(case)
    if isinstance(case.body, dict) and operation in ("createCheck", "updateCheck"):
        case.body = plausible_body(case.body, operation)
    if not is_sequence(case):
        place_parameters(case, operation)
    if operation == "deleteCheck" and str(case.path_parameters.get("check")).lower() in LASTING:
        case.path_parameters["check"] = spare_check()
    place_key(case)
    place_condition(case, operation)
    drop_controls(case)


def place_parameters(case, operation):
    """Uses an existing check in most paths, and a ping that has a body."""
    if not isinstance(case.path_parameters, dict) or one_in(6):
        return
    check = chance.choice(WORLD["checks"])
    if "check" in case.path_parameters:
        name = check["uuid"]
        if operation in ("getCheck", "listFlips") and one_in(3):
            name = check["uniqueKey"]
        if operation == "deleteCheck":
            name = spare_check()
        if one_in(20):
            name = WORLD["strangersCheck"]
        case.path_parameters["check"] = name
    if "n" in case.path_parameters and check["bodies"]:
        case.path_parameters["n"] = chance.choice(check["bodies"])


def place_key(case):
    """Mostly the read-write key; sometimes another, none, or a generated one."""
    keys = WORLD["keys"]
    if is_sequence(case) or not one_in(6):
        key = keys["readWrite"]
    else:
        key = chance.choice([keys["readOnly"], keys["readOnly"], keys["stranger"], keys["unknown"], None, ""])
    if case.headers is None:
        case.headers = {}
    if key == "":
        return
    case.headers.pop("X-Api-Key", None)
    if key is None:
        return
    if isinstance(case.body, dict) and one_in(8):
        case.body = {**case.body, "api_key": key}
    else:
        case.headers["X-Api-Key"] = key


def place_condition(case, operation):
    """Sends a conditional request if an earlier response had a validator."""
    if operation not in ("listChecks", "getCheck") or not one_in(3):
        return
    known = etags.get(condition_name(case))
    if known is not None:
        case.headers["If-None-Match"] = known


def condition_name(case):
    return repr((case.formatted_path, case.query, case.headers.get("X-Api-Key")))


def plausible_body(body, operation):
    """Texts with rules that a schema cannot express are valid in most bodies."""
    changed = dict(body)
    for field in ("schedule", "tz", "channels"):
        if isinstance(body.get(field), str) and not one_in(5):
            changed[field] = chance.choice(WORLD["texts"][field])
    if isinstance(body.get("schedule"), str) and "tz" not in body and one_in(2):
        changed["tz"] = chance.choice(WORLD["texts"]["tz"])
    if operation == "createCheck" and one_in(5):
        check = chance.choice(WORLD["checks"])
        changed.update({"slug": check["slug"], "unique": ["slug"]})
    return changed


def spare_check():
    if not spare:
        made = housekeeping.post(
            f"{WORLD['api']}/checks/", json={"name": "Spare"}, timeout=HOUSEKEEPING_SECONDS_MAX
        )
        return made.json()["uuid"]
    return spare.popleft()


@schemathesis.hook
def after_call(context, case, response):
    count(case, response)
    if operation_of(case) == "createCheck" and response.status_code == 201:
        keep_bounded(json.loads(response.content))
    etag = response.headers.get("etag")
    if etag and len(etags) < TAGS_REMEMBERED_MAX:
        etags[condition_name(case)] = etag[0]


def keep_bounded(made):
    if "uuid" not in made:
        return
    spare.append(made["uuid"])
    if len(spare) > SPARE_MAX:
        path = quote(spare.popleft(), safe="")
        housekeeping.delete(f"{WORLD['api']}/checks/{path}", timeout=HOUSEKEEPING_SECONDS_MAX)


@atexit.register
def delete_spare():
    for uuid in spare:
        try:
            housekeeping.delete(f"{WORLD['api']}/checks/{uuid}", timeout=HOUSEKEEPING_SECONDS_MAX)
        except requests.RequestException as error:
            print(error, file=sys.stderr)
            return
