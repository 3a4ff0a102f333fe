// Calls everything that the healthchecks crate can do and fails at the first surprise. What it made is printed for
// whoever looks at the effects. Arguments: site, read-write key, read-only key, a channel's id.
use healthchecks::errors::HealthchecksApiError;
use healthchecks::manage::{get_client_with_url, UpsertResult};
use healthchecks::model::{NewCheck, UpdatedCheck};
use healthchecks::ping;
use uuid::Uuid;

fn new_check(name: &str) -> NewCheck {
    NewCheck { name: Some(name.to_owned()), tags: Some("rust nightly".to_owned()), ..Default::default() }
}

fn manage(site: &str, key: &str, read_only_key: &str, channel: &str) -> Result<String, HealthchecksApiError> {
    let api = format!("{site}/api/v3");
    let client = get_client_with_url(key.to_owned(), None, api.clone()).expect("a client");
    let reader = get_client_with_url(read_only_key.to_owned(), None, api.clone()).expect("a client");

    let channels = client.get_channels()?;
    assert_eq!(channels.len(), 2);
    assert!(channels.iter().any(|one| one.id == channel && one.name == "Ops" && one.kind == "email"));

    let simple = client.create_check(NewCheck {
        desc: Some("from Rust".to_owned()),
        timeout: Some(120),
        grace: Some(60),
        channels: Some(channel.to_owned()),
        ..new_check("crate simple")
    })?;
    assert_eq!((simple.timeout, simple.grace, simple.n_pings), (Some(120), 60, 0));
    assert_eq!((simple.status.as_str(), simple.started), ("new", false));
    assert_eq!(simple.channels.as_deref(), Some(channel));
    let id = simple.id().expect("an id");

    let cron = client.create_check(NewCheck {
        schedule: Some("15 4 * * *".to_owned()),
        tz: Some("Europe/Riga".to_owned()),
        ..new_check("crate cron")
    })?;
    assert_eq!((cron.schedule.as_deref(), cron.tz.as_deref()), (Some("15 4 * * *"), Some("Europe/Riga")));
    assert_eq!(cron.timeout, None);

    let again = NewCheck { unique: Some(vec!["name".to_owned()]), grace: Some(90), ..new_check("crate cron") };
    let (result, upserted) = client.upsert_check(again.clone())?;
    assert!(matches!(result, UpsertResult::Updated));
    assert_eq!((upserted.id(), upserted.grace), (cron.id(), 90));
    assert!(matches!(client.create_check(again), Err(HealthchecksApiError::ExistingCheckMatched)));
    let bad = NewCheck { timeout: Some(1), ..new_check("too short") };
    assert!(matches!(client.create_check(bad), Err(HealthchecksApiError::NotWellFormed)));

    let change = UpdatedCheck { name: Some("crate renamed".to_owned()), channels: Some(String::new()), ..Default::default() };
    let updated = client.update_check(change, &id)?;
    assert_eq!((updated.name.as_str(), updated.channels.as_deref()), ("crate renamed", Some("")));
    assert_eq!(updated.tags, "rust nightly");
    assert_eq!(client.get_check(&id)?.desc, "from Rust");
    assert_eq!(client.get_checks()?.len(), 2);

    let read = reader.get_checks()?;
    assert!(read.iter().all(|one| one.ping_url.is_none() && one.unique_key.is_some()));
    let key = read.iter().find(|one| one.name == "crate renamed").and_then(|one| one.unique_key.clone());
    assert_eq!(reader.get_check(&key.expect("a unique key"))?.name, "crate renamed");
    assert!(reader.get_channels().is_err());
    assert!(reader.delete(&id).is_err());
    let stranger = get_client_with_url("x".repeat(32), None, api).expect("a client");
    assert!(matches!(stranger.get_checks(), Err(HealthchecksApiError::InvalidApiKey)));
    let nobody = Uuid::new_v4().to_string();
    assert!(matches!(client.get_check(&nobody), Err(HealthchecksApiError::NoCheckFound(_))));

    ping_all(site, &id);
    let pings = client.list_logged_pings(&id)?;
    assert_eq!(pings.len(), 8);
    assert_eq!((pings[0].n, pings[0].type_field.as_str(), pings[0].method.as_str()), (8, "success", "GET"));
    assert!(pings[0].duration.is_some());
    let flips = client.list_status_changes(&id)?;
    assert_eq!(flips.iter().map(|one| one.up).collect::<Vec<_>>(), [1, 0, 1, 0, 1]);

    assert_eq!(client.pause(&id)?.status, "paused");
    assert_eq!(client.delete(&cron.id().expect("an id"))?.name, "crate cron");
    Ok(id)
}

fn ping_all(site: &str, id: &str) {
    let client = ping::get_client_with_url(id, &format!("{site}/ping")).expect("a client");
    let run = Uuid::new_v4();
    assert!(client.start_timer());
    assert!(client.report_success());
    assert!(client.report_failure());
    assert!(client.report_success());
    assert!(client.report_failure_with_logs("the log of a failure"));
    assert!(client.report_failure_with_run_id(Some(&run)));
    assert!(client.start_timer_with_run_id(Some(&run)));
    assert!(client.report_success_with_run_id(Some(&run)));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [site, key, read_only_key, channel] = arguments.as_slice() else { panic!("four arguments, please") };
    let id = manage(site, key, read_only_key, channel).unwrap_or_else(|error| panic!("{error}: {error:?}"));
    println!("{id}");
}
