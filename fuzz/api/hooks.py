"""Extends Schemathesis: puts things that exist into what it makes up (checks, pings, keys, schedules), keeps the
number of checks bounded, and counts every answer. What a right answer is, is left to Schemathesis."""

import atexit
import collections
import json
import os
import random
import sys
from urllib.parse import quote

import requests
import schemathesis

# Checks that were made on the way and may be deleted; beyond this many the oldest goes, so that lists stay short.
SPARE_MAX = 40
TAGS_REMEMBERED_MAX = 2_000
HOUSEKEEPING_SECONDS_MAX = 30

with open(os.environ["OVERDUE_FUZZ_WORLD"], encoding="utf-8") as file:
    WORLD = json.load(file)

# What every round asks about has to outlive it, however its name was learnt.
LASTING = {check["uuid"] for check in WORLD["checks"]}

chance = random.Random(WORLD["seed"])
spare = collections.deque()
etags = {}
answers = {}
housekeeping = requests.Session()
housekeeping.trust_env = False
housekeeping.headers["X-Api-Key"] = WORLD["keys"]["readWrite"]


def one_in(times):
    return chance.randrange(times) == 0


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw["operationId"]
    # Sequences know what they made, and go on with it.
    is_sequence = case.meta is not None and case.meta.phase.name == "stateful"
    if isinstance(case.body, dict) and operation in ("createCheck", "updateCheck"):
        case.body = plausible_body(case.body, operation)
    if not is_sequence:
        place_parameters(case, operation)
    if operation == "deleteCheck" and str(case.path_parameters.get("check")).lower() in LASTING:
        case.path_parameters["check"] = spare_check()
    place_key(case, operation, is_sequence)
    place_condition(case, operation)
    drop_controls(case)


def drop_controls(case):
    """A header with control characters is no HTTP: it is refused before any operation, whatever the document says."""
    for name, value in case.headers.items():
        if isinstance(value, str):
            case.headers[name] = "".join(one for one in value if one == "\t" or one >= " " and one != "\x7f")


def place_parameters(case, operation):
    """Names a check that exists in most paths, and a ping that has a body."""
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


def place_key(case, operation, is_sequence):
    """Mostly the key that may do everything; sometimes another, none, or what was made up."""
    keys = WORLD["keys"]
    if is_sequence or not one_in(6):
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
    """Asks for what has changed, where an earlier answer said how."""
    if operation not in ("listChecks", "getCheck") or not one_in(3):
        return
    known = etags.get(condition_name(case))
    if known is not None:
        case.headers["If-None-Match"] = known


def condition_name(case):
    return repr((case.formatted_path, case.query, case.headers.get("X-Api-Key")))


def plausible_body(body, operation):
    """Texts with rules of their own that no schema can say are made right in most bodies."""
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
    operation = case.operation.definition.raw["operationId"]
    status = response.status_code
    is_valid = case.meta is None or case.meta.generation.mode.is_positive
    is_meant = case.method.upper() == case.operation.method.upper()
    label = operation if is_meant else "other methods"
    counts = answers.setdefault(label, {}).setdefault(str(status), {"valid": 0, "broken": 0})
    counts["valid" if is_valid else "broken"] += 1
    if operation == "createCheck" and status == 201:
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
def tell():
    with open(os.environ["OVERDUE_FUZZ_ANSWERS"], "w", encoding="utf-8") as file:
        json.dump(answers, file)
    for uuid in spare:
        try:
            housekeeping.delete(f"{WORLD['api']}/checks/{uuid}", timeout=HOUSEKEEPING_SECONDS_MAX)
        except requests.RequestException as error:
            print(error, file=sys.stderr)
            return
