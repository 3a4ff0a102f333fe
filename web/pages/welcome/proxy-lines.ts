// What to write into the settings of a proxy that stands in front, and into ours. Pure.

export const PROXIES = ["Caddy", "nginx", "HAProxy", "Traefik"] as const;
export type Proxy = (typeof PROXIES)[number];

/** Where people come to, and where the program listens. */
export type Ends = { name: string; path: string; upstream: string };

const EXAMPLE_NAME = "overdue.example.com";

/** From the address in the browser, and the port that the program listens on. A local address is no public name. */
export function endsOf(address: string, port: number): Ends {
  const url = URL.parse(address);
  const upstream = `127.0.0.1:${port}`;
  if (url === null) return { name: EXAMPLE_NAME, path: "", upstream };
  const path = url.pathname.replace(/\/$/, "");
  return { name: isLocal(url.hostname) ? EXAMPLE_NAME : url.hostname, path, upstream };
}

/** Whether only this machine can use an address. */
export function isLocal(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}

const LINES: Readonly<Record<Proxy, (ends: Ends) => string>> = {
  Caddy: ({ name, path, upstream }) =>
    path === ""
      ? `${name} {\n\treverse_proxy ${upstream}\n}`
      : `${name} {\n\thandle ${path}/* {\n\t\treverse_proxy ${upstream}\n\t}\n}`,
  nginx: ({ name, path, upstream }) => `server {
    listen 443 ssl;
    server_name ${name};
    # Add ssl_certificate and ssl_certificate_key here.

    location ${path}/ {
        proxy_pass http://${upstream};
        proxy_http_version 1.1;
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
    }
}`,
  // It passes Host on as it came. A path stands in the rule alone: we expect it in front of every address.
  HAProxy: ({ name, path, upstream }) => `frontend https
    bind :443 ssl crt /etc/haproxy/certs/
    mode http
    option forwardfor
    http-request set-header X-Forwarded-Proto https
    use_backend overdue if { hdr(host) -i ${name} }${path === "" ? "" : ` { path_beg ${path}/ }`}

backend overdue
    mode http
    # Longer than the heartbeat interval of the live updates.
    timeout server 1m
    server overdue ${upstream}`,
  Traefik: ({ name, path, upstream }) => `http:
  routers:
    overdue:
      rule: "Host(\`${name}\`)${path === "" ? "" : ` && PathPrefix(\`${path}\`)`}"
      entryPoints: [websecure]
      tls: { certResolver: letsencrypt }
      service: overdue
  services:
    overdue:
      loadBalancer:
        servers:
          - url: "http://${upstream}"`,
};

export function proxyLines(proxy: Proxy, ends: Ends): string {
  return LINES[proxy](ends);
}

/** Ours, whichever proxy it is. */
export function ownLines({ name, path }: Ends): string {
  return `OVERDUE_SITE_URL=https://${name}${path}\nOVERDUE_TRUSTED_PROXIES=127.0.0.0/8, ::1/128`;
}

/** For sending mail. */
export const MAIL_LINES = `OVERDUE_SMTP_HOST=smtp.example.com
OVERDUE_SMTP_PORT=465
OVERDUE_SMTP_TLS=tls
OVERDUE_SMTP_USER=overdue@example.com
OVERDUE_SMTP_PASSWORD=…
OVERDUE_MAIL_FROM=Overdue <overdue@example.com>`;
