// Creating personal access tokens, which needs a browser and a recent re-authentication. The API lists and revokes them.
import { TokenBody, type TokenCreated } from "../../contract/api/tokens.ts";
import { createAccessToken } from "../../operations/tokens.ts";
import { accountRoute, type WebRoute } from "./route.ts";

const create = accountRoute({
  access: "account",
  reauth: true,
  name: "account.createToken",
  method: "POST",
  path: "/web/account/tokens",
  body: TokenBody,
  answer: async ({ context, account, body, now }) => {
    const { database, secrets } = context;
    const secretKey = secrets.current;
    const token = await createAccessToken(database, { account, ...body, secretKey, now });
    return { status: 201, json: { token } satisfies TokenCreated };
  },
});

export const tokenRoutes: readonly WebRoute[] = [create];
