-- Sends one kind of request to the API: wrk … -s requests.lua URL -- METHOD PATH FILE KEY BODY SECONDS
-- FILE holds a UUID or a unique key in each line, one of which takes the place of UUID in PATH; "-" for none. COUNTER in BODY becomes
-- a number that no other request has. Nothing is sent after SECONDS, so that every request is answered before wrk
-- ends; the time until the last answer is what counts. The last line of the output is one object for machines.
local ffi = require("ffi")
ffi.cdef([[
  typedef struct { long seconds; long nanoseconds; } moment;
  int clock_gettime(int clock, moment *now);
]])

local MONOTONIC = 1
local FOREVER_MS = 600000
local now = ffi.new("moment")
local threads = {}

local function seconds()
  ffi.C.clock_gettime(MONOTONIC, now)
  return tonumber(now.seconds) + tonumber(now.nanoseconds) / 1e9
end

function setup(thread)
  table.insert(threads, thread)
  thread:set("number", #threads)
end

function init(args)
  method = args[1]
  path = args[2]
  if args[3] ~= "-" then
    local file = assert(io.open(args[3], "rb"))
    uuids = file:read("*a")
    file:close()
    line = uuids:find("\n", 1, true)
    count = #uuids / line
  end
  headers = "Host: localhost\r\nUser-Agent: curl/8.5.0\r\nX-Api-Key: " .. args[4] .. "\r\n"
  body = args[5]
  sending = tonumber(args[6])
  sent = 0
  first = 0
  last = 0
  math.randomseed(os.time() * 16 + number)
end

function request()
  if deadline == nil then
    first = seconds()
    deadline = first + sending
  end
  sent = sent + 1
  local target = path
  if uuids ~= nil then
    local at = math.random(0, count - 1) * line
    target = path:gsub("UUID", uuids:sub(at + 1, at + line - 1), 1)
  end
  local text = method .. " " .. target .. " HTTP/1.1\r\n" .. headers
  if body == "" then return text .. "\r\n" end
  local own = body:gsub("COUNTER", string.format("%d-%d-%d", os.time(), number, sent), 1)
  return text .. "Content-Length: " .. #own .. "\r\n\r\n" .. own
end

-- Called before the first request of a connection and after each response.
function delay()
  last = seconds()
  if deadline ~= nil and last > deadline then return FOREVER_MS end
  return 0
end

function done(summary)
  local errors = summary.errors
  local from, to
  for _, thread in ipairs(threads) do
    local one, other = thread:get("first"), thread:get("last")
    if from == nil or one < from then from = one end
    if to == nil or other > to then to = other end
  end
  io.write(string.format(
    '{"answered":%d,"refused":%d,"broken":%d,"elapsedMs":%.3f}\n',
    summary.requests,
    errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    (to - from) * 1000
  ))
end
