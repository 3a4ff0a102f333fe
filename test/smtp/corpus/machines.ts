// What machines mail when their jobs have run: cron daemons, NAS boxes, backup tools, power supplies, printers.
import { base64, type Entry, IN_BODY, IN_SUBJECT, mail, WORDS } from "./message.ts";

export const MACHINES: readonly Entry[] = [
  {
    name: "Vixie cron, output of a job",
    message: mail(`
From: root@web1.example.org (Cron Daemon)
To: root@web1.example.org
Subject: Cron <root@web1> /usr/local/bin/nightly
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 8bit
X-Cron-Env: <SHELL=/bin/sh>
X-Cron-Env: <HOME=/root>
Auto-Submitted: auto-generated

rotated 14 logs
`),
    expected: "success",
  },
  {
    name: "cronie, a job that is not found",
    check: WORDS,
    message: mail(`
From: "(Cron Daemon)" <root@db2.example.org>
To: root@db2.example.org
Subject: Cron <root@db2> pg_dumpall > /backup/all.sql
Content-Type: text/plain; charset=UTF-8
Auto-Submitted: auto-generated

/bin/sh: pg_dumpall: command not found
error: no such file
`),
    expected: "fail",
  },
  {
    name: "cron of FreeBSD, periodic daily",
    check: { filterSubject: true, successKw: "daily run output" },
    message: mail(`
From: Charlie Root <root@bsd.example.org>
To: root@bsd.example.org
Subject: bsd.example.org daily run output

Removing stale files from /var/preserve:

Checking status of zfs pools:
all pools are healthy

-- End of daily output --
`),
    expected: "success",
  },
  {
    name: "anacron, a job that has started",
    check: IN_SUBJECT,
    message: mail(`
From: root <root@laptop.example.org>
To: root
Subject: Anacron job 'cron.weekly' started on laptop

cron.weekly
`),
    expected: "start",
  },
  {
    name: "systemd OnFailure mailer",
    check: IN_SUBJECT,
    message: mail(`
To: ops@example.org
From: systemd <root@node7.example.org>
Subject: [node7] unit backup.service FAILED
Content-Transfer-Encoding: 8bit
Content-Type: text/plain; charset=UTF-8

● backup.service - Nightly backup
     Loaded: loaded (/etc/systemd/system/backup.service; static)
     Active: failed (Result: exit-code) since Sun 2026-03-01 02:00:11 UTC
`),
    expected: "fail",
  },
  {
    name: "Synology DSM, Hyper Backup done",
    check: { ...IN_SUBJECT, successKw: "successful" },
    message: mail(`
Date: Sun, 01 Mar 2026 03:12:44 +0100
From: "NAS-Keller" <nas@example.org>
To: <backup@ping.example.org>
Subject: =?UTF-8?B?W05BUy1LZWxsZXJdIEh5cGVyIEJhY2t1cDogYmFja3VwIHRhc2sgc3VjY2Vzc2Z1bA==?=
MIME-Version: 1.0
Content-Type: text/plain; charset="UTF-8"
Content-Transfer-Encoding: base64

${base64("Dear user,\n\nYour backup task Documents has completed.\n\nFrom NAS-Keller")}
`),
    expected: "success",
  },
  {
    name: "Synology DSM, a volume has crashed",
    check: { ...WORDS, failureKw: "crashed" },
    message: mail(`
From: "NAS-Keller" <nas@example.org>
To: <backup@ping.example.org>
Subject: [NAS-Keller] Volume 1 on NAS-Keller has crashed
MIME-Version: 1.0
Content-Type: text/plain; charset="UTF-8"

The system detected an abnormality on Volume 1.
`),
    expected: "fail",
  },
  {
    name: "QNAP QTS, HTML only, in single-quoted attributes",
    check: IN_BODY,
    message: mail(`
From: qnap@example.org
To: backup@ping.example.org
Subject: [Info][Hybrid Backup Sync] Notification from your device: NASBOX
MIME-Version: 1.0
Content-Type: text/html; charset=utf-8

<html><body><table class='t' title='a > b'><tr><td>Severity:</td><td>Info</td></tr>
<tr><td>Message:</td><td>[Hybrid Backup Sync] Job &quot;Photos&quot; com<wbr>pleted.</td></tr></table></body></html>
`),
    expected: "success",
  },
  {
    name: "TrueNAS, an alert is new",
    check: { ...IN_BODY, failureKw: "DEGRADED" },
    message: mail(`
From: root@truenas.example.org
To: ops@example.org
Subject: TrueNAS truenas: Alerts
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="===============0173915741=="

--===============0173915741==
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary="===============8847211203=="

--===============8847211203==
Content-Type: text/plain; charset="utf-8"
MIME-Version: 1.0
Content-Transfer-Encoding: base64

${base64("New alert:\n* Pool tank state is DEGRADED: one or more devices are faulted.\n")}
--===============8847211203==
Content-Type: text/html; charset="utf-8"
MIME-Version: 1.0
Content-Transfer-Encoding: base64

${base64("<p>New alert:</p><ul><li>Pool tank state is DEGRADED</li></ul>")}
--===============8847211203==--

--===============0173915741==--
`),
    expected: "fail",
  },
  {
    name: "Veeam, a job with a warning and no keyword",
    check: { ...IN_SUBJECT, successKw: "[Success]", failureKw: "[Failed]" },
    message: mail(`
From: veeam@example.org
To: backup@ping.example.org
Subject: [Warning] Daily VMs (12 objects) 1 warning
MIME-Version: 1.0
Content-Type: text/html; charset=us-ascii
Content-Transfer-Encoding: quoted-printable

<html><body><table><tr><td style=3D"background-color: #ffd96c">Backup job: Daily VM=
s</td></tr></table></body></html>
`),
    expected: "ign",
  },
  {
    name: "Veeam, a failed job in HTML with a style sheet",
    check: { ...IN_SUBJECT, successKw: "[Success]", failureKw: "[Failed]" },
    message: mail(`
From: veeam@example.org
To: backup@ping.example.org
Subject: [Failed] Daily VMs (12 objects) 12 failed
MIME-Version: 1.0
Content-Type: text/html; charset=us-ascii

<html><head><style>.ok { color: green }</style></head><body>Error: cannot connect</body></html>
`),
    expected: "fail",
  },
  {
    name: "Bacula, the subject says how it ended",
    check: { ...IN_SUBJECT, successKw: "Backup OK", failureKw: "Backup Error" },
    message: mail(`
From: (Bacula) <bacula@example.org>
Subject: Bacula: Backup OK of web1-fd Incremental
To: ops@example.org

01-Mar 23:05 backup-dir JobId 4711: Bacula backup-dir 13.0.3
  FD Files Written:       8,211
  Termination:            Backup OK
`),
    expected: "success",
  },
  {
    name: "Borg with a wrapper that mails when it begins",
    check: IN_SUBJECT,
    message: mail(`
From: borg@files.example.org
To: ops@example.org
Subject: borg create BEGIN files-2026-03-01

Archive name: files-2026-03-01
`),
    expected: "start",
  },
  {
    name: "restic by msmtp, without a subject",
    check: IN_BODY,
    message: mail(`
From: restic@files.example.org
To: ops@example.org

Files:         310 new,    12 changed, 90411 unmodified
snapshot 1a2b3c4d saved, check completed
`),
    expected: "success",
  },
  {
    name: "rsnapshot, errors only",
    check: IN_BODY,
    message: mail(`
Subject: rsnapshot on files
From: root

----------------------------------------------------------------------------
rsnapshot encountered an error! The program was invoked with these options:
/usr/bin/rsnapshot daily
----------------------------------------------------------------------------
ERROR: /usr/bin/rsync returned 255 while processing root@web1:/etc/
`),
    expected: "fail",
  },
  {
    name: "Acronis, a bilingual subject in two encoded words",
    check: { ...IN_SUBJECT, successKw: "erfolgreich" },
    message: mail(`
From: Acronis <acronis@example.org>
To: it@example.org
Subject: =?utf-8?Q?Der_Plan_=E2=80=9ET=C3=A4glich=E2=80=9C_wurde_erfolg?=
 =?utf-8?Q?reich_ausgef=C3=BChrt?=
Content-Type: text/plain; charset=utf-8

.
`),
    expected: "success",
  },
  {
    name: "Windows Server Backup by a script, CDO message",
    check: { ...IN_BODY, successKw: "erfolgreich abgeschlossen" },
    message: mail(`
thread-index: AdqTT1k2
From: <server@example.org>
To: <it@example.org>
Subject: Sicherung SRV01
MIME-Version: 1.0
Content-Type: text/plain;
	charset="utf-8"
Content-Transfer-Encoding: quoted-printable
X-Mailer: Microsoft CDO for Windows 2000
Content-Class: urn:content-classes:message

Die Sicherung wurde erfolgreich abgesch=
lossen.
`),
    expected: "success",
  },
  {
    name: "APC UPS network card, on battery",
    check: { ...IN_SUBJECT, failureKw: "On battery", successKw: "No longer on battery" },
    message: mail(`
From: apc@ups1.example.org
To: ups@ping.example.org
Subject: UPS: On battery power in response to an input power problem.
MIME-Version: 1.0
Content-Type: text/plain; charset=us-ascii

Name : ups1
Location : Rack 4
Date : 03/01/2026
Time : 04:12:09
Code : 0x0109
`),
    expected: "fail",
  },
  {
    name: "APC UPS network card, back again, headers with bare line feeds in the middle of the night",
    check: { ...IN_SUBJECT, failureKw: "UPS: On battery", successKw: "No longer on battery" },
    message: mail(`
From: apc@ups1.example.org
To: ups@ping.example.org
Subject: UPS: No longer on battery power.

Severity : Informational
`),
    expected: "success",
  },
  {
    name: "Eaton UPS, a self test that passed, without any header but the subject",
    check: { ...IN_SUBJECT, successKw: "Battery test : OK" },
    message: mail(`Subject: UPS EATON-9PX - Battery test : OK\n\n`),
    expected: "success",
  },
  {
    name: "HPE iLO test mail, a sender with a dot before the @",
    sender: "ilo.@example.org",
    message: mail(`
From: ilo.@example.org
To: ilo@ping.example.org
Subject: HPE iLO AlertMail-001: (INFO) Test

EVENT: iLO AlertMail test
`),
    expected: "success",
  },
  {
    name: "A printer that knows neither its domain nor the date",
    sender: "scanner",
    check: { ...IN_SUBJECT, failureKw: "Paper jam" },
    message: mail(`From: scanner\nTo: x\nSubject: Paper jam\nDate: 00/00/0000\n\nTray 2\n`),
    expected: "fail",
  },
  {
    name: "A router that mails its log with lines of thousands of characters",
    check: IN_BODY,
    message: mail(
      `From: router@example.org\nSubject: log\n\n${"x".repeat(4_000)} ppp0: link up ${"y".repeat(4_000)} sync completed\n`,
    ),
    expected: "success",
  },
  {
    name: "fail2ban, to a check that only knows failures",
    check: { filterSubject: true, failureKw: "stopped" },
    message: mail(`
Subject: [Fail2Ban] sshd: banned 192.0.2.7 from web1
From: Fail2Ban <fail2ban@web1.example.org>
To: root@localhost

Hi,
The IP 192.0.2.7 has just been banned by Fail2Ban after 5 attempts against sshd.
`),
    expected: "success",
  },
  {
    name: "smartd, a disk about to go",
    check: { filterSubject: true, failureKw: "SMART error" },
    message: mail(`
Subject: SMART error (OfflineUncorrectableSector) detected on host: files
To: root
From: root

This message was generated by the smartd daemon running on:
   host name:  files
`),
    expected: "fail",
  },
  {
    name: "mdadm monitoring, an event without a keyword",
    check: IN_SUBJECT,
    message: mail(`
From: mdadm monitoring <root@files.example.org>
To: root
Subject: RebuildStarted event on /dev/md/0:files

This is an automatically generated mail message from mdadm
`),
    expected: "ign",
  },
  {
    name: "unattended-upgrades, lower case does not match capitals",
    check: { ...IN_SUBJECT, failureKw: "ERROR", successKw: "SUCCESS" },
    message: mail(`
To: root
Subject: unattended-upgrades result for web1: success
From: root@web1.example.org

Unattended upgrade result: All upgrades installed
`),
    expected: "ign",
  },
  {
    name: "Jenkins, a build that is back to normal",
    check: { ...IN_SUBJECT, successKw: "back to normal", failureKw: "Build failed" },
    message: mail(`
Date: Sun, 1 Mar 2026 05:00:00 +0000 (UTC)
From: ci@example.org
To: dev@example.org
Message-ID: <1.2.1740805200000@ci>
Subject: Jenkins build is back to normal : nightly #812
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 7bit

See <https://ci.example.org/job/nightly/812/>
`),
    expected: "success",
  },
];
