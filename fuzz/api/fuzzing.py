"""Shared by the hooks of both APIs: existing resources, randomness, additional requests, and counted responses."""

import atexit
import json
import os
import random

import requests

HOUSEKEEPING_SECONDS_MAX = 30

with open(os.environ["OVERDUE_FUZZ_WORLD"], encoding="utf-8") as file:
    WORLD = json.load(file)

chance = random.Random(WORLD["seed"])
answers = {}
housekeeping = requests.Session()
housekeeping.trust_env = False


def one_in(times):
    return chance.randrange(times) == 0


def drop_controls(case):
    """A header with control characters is not HTTP, and is rejected before any operation."""
    for name, value in case.headers.items():
        if isinstance(value, str):
            case.headers[name] = "".join(one for one in value if one == "\t" or one >= " " and one != "\x7f")


def operation_of(case):
    return case.operation.definition.raw["operationId"]


def is_sequence(case):
    """Sequences continue with the resources that they created."""
    return case.meta is not None and case.meta.phase.name == "stateful"


def count(case, response):
    is_valid = case.meta is None or case.meta.generation.mode.is_positive
    is_meant = case.method.upper() == case.operation.method.upper()
    label = operation_of(case) if is_meant else "other methods"
    counts = answers.setdefault(label, {}).setdefault(str(response.status_code), {"valid": 0, "broken": 0})
    counts["valid" if is_valid else "broken"] += 1


@atexit.register
def write_counts():
    with open(os.environ["OVERDUE_FUZZ_ANSWERS"], "w", encoding="utf-8") as file:
        json.dump(answers, file)
