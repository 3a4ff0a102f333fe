// Texts of the set-up of browser notifications.

export const webpushWords = {
  about:
    "The notifications appear on this device, in this browser, even when the dashboard is not open. To use another device, open this page there.",
  turnOn: "Turn on notifications",
  use: "Use this browser",
  asking: "Allow notifications when your browser asks.",
  subscribed: (browser: string) =>
    `This browser (${browser}) already receives notifications from this server. You can use it for this channel, too.`,
  done: (browser: string) =>
    `Notifications are on for this browser (${browser}). Save the channel to finish.`,
  unsupported:
    "This browser does not support push notifications. Use a current version of Chrome, Edge, Firefox or Safari.",
  insecure: "Push notifications require HTTPS. Open the dashboard at an https URL.",
  homeScreen:
    "On an iPhone or iPad, notifications require the dashboard on the home screen. In Safari, tap Share, then Add to Home Screen. Then open the dashboard from there and add the channel.",
  denied:
    "Notifications are blocked for this site. Allow them in the site settings of your browser, then reload this page.",
  dismissed: "Notifications were not allowed. Try again and choose Allow.",
  failed: (reason: string) => `The browser could not subscribe to notifications: ${reason}`,
  first: "Turn on notifications for this browser first.",
} as const;
