// Texts of the setup of browser notifications.

export const webpushWords = {
  about:
    "Notifications appear on this device, in this browser, even when the dashboard is closed. To use another device, open this page on it.",
  turnOn: "Turn on notifications",
  use: "Use this browser",
  asking: "Allow notifications when your browser asks.",
  subscribed: (browser: string) =>
    `This browser (${browser}) already receives notifications from this server. You can also use it for this channel.`,
  done: (browser: string) =>
    `Notifications are on for this browser (${browser}). Save the channel to finish.`,
  unsupported:
    "This browser does not support push notifications. Use a current version of Chrome, Edge, Firefox or Safari.",
  insecure: "Push notifications require HTTPS. Open the dashboard at its https:// URL.",
  homeScreen:
    "On an iPhone or iPad, add the dashboard to the Home Screen first: in Safari, tap Share, then Add to Home Screen. Open the dashboard from there and add the channel.",
  denied:
    "Notifications are blocked for this site. Allow them in your browser's site settings, then reload this page.",
  dismissed: "Notifications were not allowed. Try again and choose Allow.",
  failed: (reason: string) => `The browser could not subscribe to notifications: ${reason}`,
  first: "Turn on notifications for this browser first.",
} as const;
