# Decorates functions that succeed, fail, and return something worth telling; every ping is sent by the decorator.
# Argument: the ping URL of a check. HEALTHCHECK_URL in the environment is another one.
import sys

from healthchecks_decorator import healthcheck

url = sys.argv[1]


@healthcheck(url=url)
def plain():
    return 1


@healthcheck(url=url, send_start=True)
def timed():
    return 2


@healthcheck(url=url, send_start=True, send_diagnostics=True)
def telling():
    return {"rows": 42, "text": "a b"}


@healthcheck(url=f"{url}/", send_diagnostics=True)
def untellable():
    return 7


@healthcheck(url=url, send_start=True)
def failing():
    raise ValueError("as expected")


@healthcheck
def by_environment():
    return 3


assert (plain(), timed(), telling(), untellable(), by_environment()) == (1, 2, {"rows": 42, "text": "a b"}, 7, 3)
try:
    failing()
except ValueError:
    pass
else:
    raise AssertionError("the decorator swallowed the exception")
