import { type KindReceiver, startReceiver } from "../receiver.ts";
import { whatsappProblems, judgeTwilio, TWILIO_ANSWERS, TWILIO_ORIGIN } from "../twilio.ts";

export const receiver: KindReceiver = {
  config: { value: "+14155550123" },
  origins: [TWILIO_ORIGIN],
  start: () =>
    startReceiver((request) => judgeTwilio(request, { resource: "Messages", problemsOf: whatsappProblems })),
  answers: TWILIO_ANSWERS,
};
