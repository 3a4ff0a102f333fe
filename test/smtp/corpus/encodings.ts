// The alphabets of the world, as mailers write them: encoded words, quoted-printable, base64, and raw bytes.
import { base64, bytes, type Entry, fromHex, IN_BODY, IN_SUBJECT, mail } from "./message.ts";

/** A text part whose bytes are given by their numbers. */
function part(charset: string, hex: string): Buffer {
  const head = `From: a@example.org\nSubject: x\nMIME-Version: 1.0\nContent-Type: text/plain; charset=${charset}`;
  return bytes(`${head}\nContent-Transfer-Encoding: 8bit\n\n${fromHex(hex)}\n`);
}

function subject(encoded: string): Buffer {
  return mail(`From: a@example.org\nSubject: ${encoded}\n\nx\n`);
}

export const ENCODINGS: readonly Entry[] = [
  {
    name: "GB18030 body, raw bytes, a failure",
    check: { ...IN_BODY, failureKw: "备份失败", successKw: "完成" },
    message: part("GB18030", "b1b8b7ddcaa7b0dca3bab4c5c5ccd2d1c2fa"),
    expected: "fail",
  },
  {
    name: "GB18030 body in base64, done",
    check: { ...IN_BODY, failureKw: "失败", successKw: "任务完成" },
    message: mail(`
From: a@example.org
Subject: x
MIME-Version: 1.0
Content-Type: text/plain; charset="gb18030"
Content-Transfer-Encoding: base64

sbi33cjOzvHN6rPJ
`),
    expected: "success",
  },
  {
    name: "GB2312 subject",
    check: { ...IN_SUBJECT, failureKw: "失败" },
    message: subject("=?GB2312?B?sbi33cqnsNw=?="),
    expected: "fail",
  },
  {
    name: "ISO-2022-JP subject, done",
    check: { ...IN_SUBJECT, successKw: "完了" },
    message: subject("=?ISO-2022-JP?B?GyRCJVAlQyUvJSIlQyVXJCw0ME47JDckXiQ3JD8bKEI=?="),
    expected: "success",
  },
  {
    name: "ISO-2022-JP body with its escapes, a failure",
    check: { ...IN_BODY, failureKw: "失敗" },
    message: part("ISO-2022-JP", "1b244225502543252f2522254325573c3a47541b2842"),
    expected: "fail",
  },
  {
    name: "Shift_JIS body, begun",
    check: { ...IN_BODY, startKw: "開始" },
    message: part("Shift_JIS", "836f8362834e8341836283768a4a8e6e"),
    expected: "start",
  },
  {
    name: "KOI8-R body, with an error",
    check: { ...IN_BODY, failureKw: "с ошибкой" },
    message: part(
      "koi8-r",
      "f2c5dac5d2d7cecfc520cbcfd0c9d2cfd7c1cec9c520dac1d7c5d2dbc5cecf20d320cfdbc9c2cbcfca",
    ),
    expected: "fail",
  },
  {
    name: "Windows-1251 subject, done",
    check: { ...IN_SUBJECT, successKw: "успешно" },
    message: subject("=?windows-1251?B?0OXn5fDi7e7lIOru7+jw7uLg7ejlIOL77+7r7eXt7iDz8e/l+O3u?="),
    expected: "success",
  },
  {
    name: "Latin-1 subject in quoted-printable",
    check: { ...IN_SUBJECT, failureKw: "für Gerät" },
    message: subject("=?iso-8859-1?Q?Sicherung_fehlgeschlagen_f=FCr_Ger=E4t?="),
    expected: "fail",
  },
  {
    name: "Latin-2 body",
    check: { ...IN_BODY, failureKw: "Zálohování selhalo" },
    message: part("iso-8859-2", "5ae16c6f686f76e16eed2073656c68616c6f"),
    expected: "fail",
  },
  {
    name: "EUC-KR body",
    check: { ...IN_BODY, failureKw: "실패" },
    message: part("euc-kr", "b9e9bef720bdc7c6d0"),
    expected: "fail",
  },
  {
    name: "Big5 body",
    check: { ...IN_BODY, successKw: "成功" },
    message: part("big5", "b3c6a5f7a6a8a55c"),
    expected: "success",
  },
  {
    name: "Windows-1252 called Latin-1, with a dash that Latin-1 does not have",
    check: { ...IN_BODY, failureKw: "terminée – échec" },
    message: part("iso-8859-1", "53617576656761726465207465726d696ee965209620e963686563"),
    expected: "fail",
  },
  {
    name: "UTF-8 in the headers as it is, by SMTPUTF8",
    check: { ...IN_SUBJECT, successKw: "完成✓" },
    message: mail(`From: ü@example.org\nSubject: 备份任务完成✓\n\nx\n`),
    expected: "success",
  },
  {
    name: "UTF-16 in base64, as a script of PowerShell writes it",
    check: { ...IN_BODY },
    message: mail(`
Subject: x
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-16le
Content-Transfer-Encoding: base64

QgBhAGMAawB1AHAAIABGAEEASQBMAEUARAA=
`),
    expected: "fail",
  },
  {
    name: "A charset that does not exist",
    check: IN_BODY,
    message: part("x-klingon", Buffer.from("backup completed").toString("hex")),
    expected: "success",
  },
  {
    name: "Bytes that are no UTF-8 around the word",
    check: IN_BODY,
    message: part(
      "utf-8",
      `ff fe c3 28 ${Buffer.from(" completed ").toString("hex")} 80 80`.replaceAll(" ", ""),
    ),
    expected: "success",
  },
  {
    name: "Quoted-printable with soft breaks inside the word",
    check: IN_BODY,
    message: mail(`
Subject: x
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

backup FAI=
LED
`),
    expected: "fail",
  },
  {
    name: "Quoted-printable that is broken in every way",
    check: IN_BODY,
    message: mail(`
Subject: x
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

=ZZ =4 == completed =
`),
    expected: "success",
  },
  {
    name: "Base64 with blanks, line noise and no padding",
    check: IN_BODY,
    message: mail(`
Subject: x
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: base64

${base64("the job has completed")
  .replaceAll("=", "")
  .replace(/(.{5})/, "$1 \n")}
`),
    expected: "success",
  },
  {
    name: "Encoded words split in the middle of a character",
    check: { ...IN_SUBJECT, failureKw: "kļūda" },
    message: subject("=?utf-8?B?a8S8xQ==?= =?utf-8?B?q2Rh?="),
    expected: "fail",
  },
  {
    name: "Two Subject headers: the first one counts",
    check: IN_SUBJECT,
    message: mail(`Subject: completed\nSubject: FAILED\n\nx\n`),
    expected: "success",
  },
  {
    name: "A folded subject",
    check: { ...IN_SUBJECT, successKw: "has been completed" },
    message: mail(`From: a@example.org\nSubject: The job\n has been\n completed\n\nx\n`),
    expected: "success",
  },
];
