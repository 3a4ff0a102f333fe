# Calls everything that healthchecks_io can do, with its blocking and its asynchronous client, and fails at the first
# surprise. What it made is printed as JSON for whoever looks at the effects.
# Arguments: site, API version, read-write key, read-only key, ping key, a channel's id.
import asyncio
import json
import sys
import time
import uuid

import healthchecks_io as hc

site, version, key, read_only_key, ping_key, channel = sys.argv[1:]
addresses = {"api_url": f"{site}/api/", "ping_url": f"{site}/ping/", "api_version": int(version)}


def raises(kind, call, *args, **named):
    try:
        call(*args, **named)
    except kind:
        return
    raise AssertionError(f"no {kind.__name__} from {call.__name__}")


def manage(client, reader):
    integrations = client.get_integrations()
    assert [(one.name, one.kind) for one in integrations] == [("Ops", "email"), ("Pager", "webhook")], integrations
    simple = client.create_check(
        hc.CheckCreate(name="Py simple", tags="py nightly", desc="from Python", timeout=120, grace=60, channels=channel)
    )
    assert (simple.timeout, simple.grace, simple.status, simple.n_pings) == (120, 60, "new", 0), simple
    assert simple.slug == ("py-simple" if version == "1" else ""), simple.slug
    assert simple.channels == channel and simple.uuid in simple.ping_url
    cron = client.create_check(hc.CheckCreate(name="Py cron", tags="py", schedule="15 4 * * *", tz="Europe/Riga"))
    assert cron.timeout is None, cron
    upserted = client.create_check(hc.CheckCreate(name="Py simple", grace=90, unique=["name"]))
    assert (upserted.uuid, upserted.grace) == (simple.uuid, 90), upserted
    raises(hc.BadAPIRequestError, client.create_check, hc.CheckCreate(name="x", timeout=1))
    updated = client.update_check(simple.uuid, hc.CheckUpdate(name="Py renamed", desc="changed", methods="POST"))
    assert (updated.name, updated.desc, updated.methods) == ("Py renamed", "changed", "POST"), updated
    assert updated.grace == 90 and client.get_check(simple.uuid).name == "Py renamed"
    assert len(client.get_checks()) == 2
    assert [one.name for one in client.get_checks(tags=["py", "nightly"])] == []
    assert [one.name for one in client.get_checks(tags=["py"])] == ["Py cron"]
    badges = client.get_badges()
    assert "*" in badges and badges["py"].svg.startswith(site) and badges["py"].json3_url.endswith(".json"), badges
    read = reader.get_checks()
    assert all(one.uuid is None and one.ping_url is None and len(one.unique_key) == 40 for one in read), read
    assert {reader.get_check(one.unique_key).name for one in read} == {"Py renamed", "Py cron"}
    raises(hc.HCAPIAuthError, reader.get_integrations)
    raises(hc.HCAPIAuthError, reader.delete_check, simple.uuid)
    raises(hc.CheckNotFoundError, client.get_check, str(uuid.uuid4()))
    raises(hc.HCAPIAuthError, hc.Client(api_key="x" * 32, **addresses).get_checks)
    return simple, cron


def ping(client, simple, cron):
    assert client.start_ping(uuid=simple.uuid) == (True, "OK")
    assert client.success_ping(uuid=simple.uuid, data="a text that is no JSON") == (True, "OK")
    assert client.fail_ping(uuid=simple.uuid, data="it broke") == (True, "OK")
    assert client.exit_code_ping(0, uuid=simple.uuid) == (True, "OK")
    assert client.exit_code_ping(3, uuid=simple.uuid) == (True, "OK")
    with hc.CheckTrap(client, uuid=simple.uuid) as trap:
        trap.add_log("a line of the log")
    try:
        with hc.CheckTrap(client, uuid=simple.uuid):
            raise ValueError("a job that failed")
    except ValueError:
        pass
    raises(hc.CheckNotFoundError, client.success_ping, uuid=str(uuid.uuid4()))
    raises(hc.CheckNotFoundError, client.success_ping, slug="nobody")
    if version == "1":
        assert client.success_ping(slug=cron.slug) == (True, "OK")
        client.create_check(hc.CheckCreate(name="Py cron"))
        raises(hc.NonUniqueSlugError, client.success_ping, slug=cron.slug)


def history(client, reader, simple):
    pings = client.get_check_pings(simple.uuid)
    assert [one.number_of_pings for one in pings] == list(range(9, 0, -1)), pings
    assert [one.type for one in pings[-3:]] == ["fail", "success", "start"], pings
    assert pings[-2].duration is not None and pings[0].user_agent.startswith("py-healthchecks.io/")
    flips = client.get_check_flips(simple.uuid)
    assert [one.up for one in flips] == [0, 1, 0, 1, 0, 1], flips
    now = int(time.time())
    assert len(client.get_check_flips(simple.uuid, seconds=3600)) == 6
    assert len(client.get_check_flips(simple.uuid, start=now - 3600, end=now + 60)) == 6
    assert client.get_check_flips(simple.uuid, end=now - 3600) == []
    raises(hc.BadAPIRequestError, client.get_check_flips, simple.uuid, seconds=31536001)
    unique_key = next(one.unique_key for one in reader.get_checks() if one.name == "Py renamed")
    assert len(reader.get_check_flips(unique_key)) == 6
    raises(hc.HCAPIAuthError, reader.get_check_pings, simple.uuid)


async def asynchronously(simple):
    async with hc.AsyncClient(api_key=key, ping_key=ping_key, **addresses) as client:
        checks = await client.get_checks()
        assert simple.uuid in {one.uuid for one in checks}
        assert (await client.get_check(simple.uuid)).name == "Py renamed"
        made = await client.create_check(hc.CheckCreate(name="Py async", timeout=60))
        assert (await client.update_check(made.uuid, hc.CheckUpdate(tags="later"))).tags == "later"
        assert await client.start_ping(uuid=made.uuid) == (True, "OK")
        assert await client.success_ping(uuid=made.uuid, data="done") == (True, "OK")
        assert await client.fail_ping(uuid=made.uuid) == (True, "OK")
        assert await client.exit_code_ping(1, uuid=made.uuid) == (True, "OK")
        async with hc.CheckTrap(client, uuid=made.uuid):
            pass
        assert len(await client.get_check_pings(made.uuid)) == 6
        assert len(await client.get_check_flips(made.uuid)) == 3
        assert len(await client.get_integrations()) == 2
        assert "later" in await client.get_badges()
        assert (await client.pause_check(made.uuid)).status == "paused"
        assert (await client.delete_check(made.uuid)).name == "Py async"
    return made.uuid


with hc.Client(api_key=key, ping_key=ping_key, **addresses) as client:
    reader = hc.Client(api_key=read_only_key, **addresses)
    simple, cron = manage(client, reader)
    ping(client, simple, cron)
    history(client, reader, simple)
    deleted = asyncio.run(asynchronously(simple))
    assert client.pause_check(simple.uuid).status == "paused"
    assert client.delete_check(cron.uuid).name == "Py cron"
    raises(hc.CheckNotFoundError, client.delete_check, cron.uuid)
print(json.dumps({"kept": simple.uuid, "deleted": [cron.uuid, deleted]}))
