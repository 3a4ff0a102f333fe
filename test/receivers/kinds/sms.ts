import { type KindReceiver, startReceiver } from "../receiver.ts";
import { smsProblems, judgeTwilio, TWILIO_ANSWERS, TWILIO_ORIGIN } from "../twilio.ts";

export const receiver: KindReceiver = {
  config: { value: "+14155550123", up: true, notice: true },
  origins: [TWILIO_ORIGIN],
  start: () =>
    startReceiver((request) => judgeTwilio(request, { resource: "Messages", problemsOf: smsProblems })),
  answers: TWILIO_ANSWERS,
};
