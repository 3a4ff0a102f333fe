import { type KindReceiver, startReceiver } from "../receiver.ts";
import { callProblems, judgeTwilio, TWILIO_ANSWERS, TWILIO_ORIGIN } from "../twilio.ts";

export const receiver: KindReceiver = {
  config: { value: "+14155550123" },
  origins: [TWILIO_ORIGIN],
  start: () =>
    startReceiver((request) => judgeTwilio(request, { resource: "Calls", problemsOf: callProblems })),
  isSentOnce: true,
  answers: TWILIO_ANSWERS,
};
