// Messages by their shape: parts in parts, attachments, bounces, answering machines, and those that nobody should send.
import { base64, bytes, type Entry, IN_BODY, IN_SUBJECT, mail, WORDS } from "./message.ts";

const MEGABYTE = 1024 * 1024;

/** A log of so many bytes, in lines, with its verdict at the end. */
function longLog({ size, verdict }: { size: number; verdict: string }): Buffer {
  const line = `${"2026-03-01T02:00:00Z copied 4096 blocks ".padEnd(98, ".")}\r\n`;
  const head = "From: a@example.org\r\nSubject: log\r\nContent-Type: text/plain\r\n\r\n";
  return Buffer.from(head + line.repeat(Math.floor(size / line.length)) + verdict, "latin1");
}

function nested(depth: number): string {
  const open = Array.from(
    { length: depth },
    (_, at) => `Content-Type: multipart/mixed; boundary="b${at}"\n\n--b${at}\n`,
  );
  const close = Array.from({ length: depth }, (_, at) => `--b${depth - 1 - at}--\n`);
  return `Subject: x\nMIME-Version: 1.0\n${open.join("")}Content-Type: text/plain\n\nbackup completed\n${close.join("")}`;
}

export const SHAPES: readonly Entry[] = [
  {
    name: "Exchange, alternative inside related inside mixed",
    check: IN_BODY,
    message: mail(`
Received: from EXCH01.corp.example.org ([fe80::1]) by EXCH02.corp.example.org with mapi id 15.02
From: Backup <backup@corp.example.org>
To: Ping <x@ping.example.org>
Subject: AW: Bericht
Thread-Topic: Bericht
Content-Language: de-DE
X-MS-Exchange-Organization-AuthSource: EXCH01.corp.example.org
Content-Type: multipart/mixed; boundary="_005_A_"
MIME-Version: 1.0

--_005_A_
Content-Type: multipart/related; boundary="_004_A_"; type="multipart/alternative"

--_004_A_
Content-Type: multipart/alternative; boundary="_000_A_"

--_000_A_
Content-Type: text/plain; charset="iso-8859-1"
Content-Transfer-Encoding: quoted-printable

Sicherung completed

--_000_A_
Content-Type: text/html; charset="iso-8859-1"
Content-Transfer-Encoding: quoted-printable

<html><body><p class=3D"MsoNormal">Sicherung completed<o:p></o:p></p></body></html>

--_000_A_--

--_004_A_
Content-Type: image/png; name="image001.png"
Content-ID: <image001.png@01DA>
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--_004_A_--

--_005_A_
Content-Type: text/plain; name="report.txt"
Content-Disposition: attachment; filename="report.txt"

ERROR in an attachment is nobody's business
--_005_A_--
`),
    expected: "success",
  },
  {
    name: "Outlook with winmail.dat",
    check: IN_BODY,
    message: mail(`
From: it@example.org
Subject: report
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="----=_NextPart_000"
X-MS-TNEF-Correlator: 1

------=_NextPart_000
Content-Type: text/plain; charset="us-ascii"

see attached

------=_NextPart_000
Content-Type: application/ms-tnef; name="winmail.dat"
Content-Transfer-Encoding: base64
Content-Disposition: attachment; filename="winmail.dat"

${base64('x\u009f>"ERROR FAILED completed')}
------=_NextPart_000--
`),
    expected: "ign",
  },
  {
    name: "Keywords in the attachment only",
    check: WORDS,
    message: mail(`
Subject: report
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=q

--q
Content-Type: text/plain

nothing to see
--q
Content-Type: text/plain
Content-Disposition: attachment; filename=log.txt

FAILED
--q--
`),
    expected: "ign",
  },
  {
    name: "The HTML part alone says that it failed",
    check: IN_BODY,
    message: mail(`
Subject: x
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=q

--q
Content-Type: text/plain

Your client does not show HTML.
--q
Content-Type: text/html

<p>It has <b>FA</b>ILED</p>
--q--
`),
    expected: "fail",
  },
  {
    name: "Words in scripts, styles, comments and attributes are not read",
    check: IN_BODY,
    message: mail(`
Subject: x
Content-Type: text/html

<html><head><style>.FAILED{}</style><script>var ERROR = "FAILED"</script></head>
<!-- ERROR --><body title="FAILED"><a href="https://example.org/?q=ERROR">nothing</a></body></html>
`),
    expected: "ign",
  },
  {
    name: "HTML that is never closed",
    check: IN_BODY,
    message: mail(`Subject: x\nContent-Type: text/html\n\n<p>completed <a href="x\n`),
    expected: "success",
  },
  {
    name: "Entities in HTML",
    check: { ...IN_BODY, failureKw: "Übertragung <abgebrochen>" },
    message: mail(
      `Subject: x\nContent-Type: text/html\n\n&Uuml;bertragung&nbsp;&lt;abge&#98;roche&#x6e;&gt;\n`,
    ),
    expected: "fail",
  },
  {
    name: "A bounce with the original message, for a check without filters",
    sender: "",
    message: mail(`
From: MAILER-DAEMON@mx.example.org (Mail Delivery System)
To: ping@example.org
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="B.1/mx"

--B.1/mx
Content-Type: text/plain; charset=us-ascii

I'm sorry to have to inform you that your message could not be delivered.
--B.1/mx
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.org
Final-Recipient: rfc822; nobody@example.org
Action: failed
Status: 5.1.1
--B.1/mx
Content-Type: message/rfc822

From: x@example.org
Subject: ERROR

FAILED
--B.1/mx--
`),
    expected: "success",
  },
  {
    name: "A bounce: the returned message is not searched",
    sender: "",
    check: IN_BODY,
    message: mail(`
From: MAILER-DAEMON@mx.example.org
Subject: Undelivered Mail Returned to Sender
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary=q

--q
Content-Type: text/plain

could not be delivered
--q
Content-Type: message/rfc822

Subject: ERROR

FAILED completed
--q--
`),
    expected: "ign",
  },
  {
    name: "A bounce of a bounce of a bounce",
    sender: "",
    check: IN_SUBJECT,
    message: mail(`
From: <>
Subject: Undeliverable: Undeliverable: Undeliverable: job completed
Auto-Submitted: auto-replied
X-Loop: ping@example.org
Received: by a; Sun, 1 Mar 2026 00:00:03 +0000
Received: by b; Sun, 1 Mar 2026 00:00:02 +0000
Received: by a; Sun, 1 Mar 2026 00:00:01 +0000

loop
`),
    expected: "success",
  },
  {
    name: "Somebody is out of office",
    check: { filterSubject: true, failureKw: "FAILED" },
    message: mail(`
From: someone@example.org
Subject: Automatic reply: your message
Auto-Submitted: auto-replied
X-Auto-Response-Suppress: All

I am away.
`),
    expected: "success",
  },
  {
    name: "A forwarded message inside, which says that it failed",
    check: IN_BODY,
    message: mail(`
Subject: Fwd: x
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=q

--q
Content-Type: text/plain

has completed, see below
--q
Content-Type: message/rfc822

Subject: y

FAILED
--q--
`),
    expected: "success",
  },
  {
    name: "Thirty megabytes of log, the verdict in the last line",
    check: IN_BODY,
    message: longLog({ size: 30 * MEGABYTE, verdict: "rsync: FAILED\r\n" }),
    expected: "fail",
  },
  {
    name: "A megabyte of log, done in the last line",
    check: IN_BODY,
    message: longLog({ size: MEGABYTE, verdict: "all completed\r\n" }),
    expected: "success",
  },
  {
    name: "A text, and an attachment of two megabytes behind it",
    check: IN_BODY,
    message: mail(`
Subject: x
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=q

--q
Content-Type: text/plain

dump completed
--q
Content-Type: application/gzip
Content-Transfer-Encoding: base64
Content-Disposition: attachment; filename=dump.gz

${base64(Buffer.alloc(2 * MEGABYTE, 7))}
--q--
`),
    expected: "success",
  },
  {
    name: "NUL bytes in subject and body",
    check: WORDS,
    message: bytes("Subject: job\x00 x\n\n\x00\x00completed\x00\n"),
    expected: "success",
  },
  {
    name: "Nothing but NUL bytes",
    check: { ...WORDS, filterDefaultFail: true },
    message: Buffer.concat([Buffer.alloc(1_000), Buffer.from("\r\n")]),
    expected: "fail",
  },
  { name: "Not one byte", check: IN_BODY, message: Buffer.alloc(0), expected: "ign" },
  { name: "Not one byte, and no filter", message: Buffer.alloc(0), expected: "success" },
  {
    name: "No headers, only a text",
    check: { ...IN_BODY, filterDefaultFail: true },
    message: mail(`\nbackup completed\n`),
    expected: "fail",
  },
  {
    name: "An empty line first, as some scripts send it",
    check: IN_BODY,
    message: bytes("\nSubject: x\n\nbackup completed\n"),
    expected: "success",
  },
  {
    name: "Lines that begin with dots",
    check: { ...IN_BODY, successKw: "\n.completed" },
    message: mail(`Subject: x\n\n..\n.completed\n...\n`),
    expected: "success",
  },
  {
    name: "A boundary that never comes",
    check: IN_BODY,
    message: mail(
      `Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=never\n\nbackup completed\n`,
    ),
    expected: "ign",
  },
  {
    name: "A multipart without a boundary",
    check: IN_SUBJECT,
    message: mail(`Subject: started\nContent-Type: multipart/mixed\n\n--x\n\nFAILED\n`),
    expected: "start",
  },
  {
    name: "A part that is never closed",
    check: IN_BODY,
    message: mail(
      `Subject: x\nContent-Type: multipart/mixed; boundary=q\n\n--q\nContent-Type: text/plain\n\ncompleted\n`,
    ),
    expected: "success",
  },
  { name: "Twenty parts in each other", check: IN_BODY, message: mail(nested(20)), expected: "success" },
  {
    name: "Three hundred parts in each other",
    check: IN_BODY,
    message: mail(nested(300)),
    expected: "success",
  },
  {
    name: "Ten thousand headers",
    check: IN_SUBJECT,
    message: mail(`${"X-Spam: no, not at all\n".repeat(10_000)}Subject: completed\n\nx\n`),
    expected: "success",
  },
  {
    name: "A Content-Type that makes no sense",
    check: IN_BODY,
    message: mail(`Subject: x\nContent-Type: ;;;=""; charset\n\nbackup completed\n`),
    expected: "success",
  },
  {
    name: "Bare line feeds and carriage returns in the body",
    check: IN_BODY,
    message: Buffer.from("Subject: x\r\n\r\none\rtwo\nthree completed\r\n"),
    expected: "success",
  },
  {
    name: "Failure wins over success in one message",
    check: WORDS,
    message: mail(`Subject: job completed\n\n3 files OK, 1 FAILED\n`),
    expected: "fail",
  },
  {
    name: "No keyword at all, and what matches nothing is a failure",
    check: { filterSubject: true, filterDefaultFail: true },
    message: mail(`Subject: hello\n\nx\n`),
    expected: "fail",
  },
  {
    name: "Filters without any keyword: a success",
    check: { filterSubject: true, filterBody: true },
    message: mail(`Subject: hello\n\nx\n`),
    expected: "success",
  },
];
