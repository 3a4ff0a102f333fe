// Delivery reports as servers send them: Postfix, Exchange and a terse one; and mails that are none.

type Report = { to: string; status?: string; diagnostic?: string };

/** As Postfix writes it. */
export function postfixReport({
  to,
  status = "5.1.1",
  diagnostic = "smtp; 550 5.1.1 <ann@example.org>: User unknown",
}: Report): string {
  return [
    "Return-Path: <>",
    "Received: by mail.example.org (Postfix) id 4XyZ; Sun, 15 Nov 2026 04:00:10 +0000 (UTC)",
    "Date: Sun, 15 Nov 2026 04:00:10 +0000 (UTC)",
    "From: MAILER-DAEMON@mail.example.org (Mail Delivery System)",
    "Subject: Undelivered Mail Returned to Sender",
    `To: ${to}`,
    "Auto-Submitted: auto-replied",
    "MIME-Version: 1.0",
    "Content-Type: multipart/report; report-type=delivery-status;",
    '\tboundary="8D2C1.1763179210/mail.example.org"',
    "",
    "This is a MIME-encapsulated message.",
    "",
    "--8D2C1.1763179210/mail.example.org",
    "Content-Description: Notification",
    "Content-Type: text/plain; charset=us-ascii",
    "",
    "I'm sorry to have to inform you that your message could not",
    "be delivered to one or more recipients. It's attached below.",
    "",
    "--8D2C1.1763179210/mail.example.org",
    "Content-Description: Delivery report",
    "Content-Type: message/delivery-status",
    "",
    "Reporting-MTA: dns; mail.example.org",
    "X-Postfix-Queue-ID: 8D2C1",
    "Arrival-Date: Sun, 15 Nov 2026 04:00:09 +0000 (UTC)",
    "",
    "Final-Recipient: rfc822; ann@example.org",
    "Original-Recipient: rfc822;ann@example.org",
    "Action: failed",
    `Status: ${status}`,
    "Remote-MTA: dns; mx.example.org",
    `Diagnostic-Code: ${diagnostic}`,
    "",
    "--8D2C1.1763179210/mail.example.org",
    "Content-Description: Undelivered Message",
    "Content-Type: message/rfc822",
    "",
    "From: Overdue <overdue@example.org>",
    "To: ann@example.org",
    "Subject: DOWN | backup",
    "Status: 2.0.0",
    "",
    "body",
    "",
    "--8D2C1.1763179210/mail.example.org--",
    "",
  ].join("\r\n");
}

/** The status part as base64, with folded lines and lower-case names, as some gateways do. */
export function encodedReport({ to, status = "4.4.1" }: Report): string {
  const fields = `reporting-mta: dns; gw\r\n\r\nfinal-recipient: rfc822; ann@example.org\r\naction: delayed\r\nstatus: ${status} (try again)\r\ndiagnostic-code: smtp;\r\n  421 4.4.1\r\n  connection timed out\r\n`;
  return [
    `to: <${to}>`,
    "subject: delayed",
    'content-type: multipart/report; report-type=delivery-status; boundary="b"',
    "",
    "--b",
    "content-type: message/delivery-status",
    "content-transfer-encoding: base64",
    "",
    Buffer.from(fields).toString("base64"),
    "--b--",
    "",
  ].join("\r\n");
}

/** Somebody is on holiday. */
export function autoReply(to: string): string {
  return `To: ${to}\r\nSubject: Out of office\r\nContent-Type: text/plain\r\n\r\nStatus: 5.1.1 is what I think of work.\r\n`;
}
