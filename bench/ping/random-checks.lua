-- Sends signals to checks drawn at random: wrk … -s random-checks.lua URL -- FILE BODY-BYTES SECONDS
-- FILE holds a UUID in each line. Nothing is sent after SECONDS, so that every request is answered before wrk
-- ends and can be counted. The last line of the output is one object for machines.
local ffi = require("ffi")
ffi.cdef([[
  typedef struct { long seconds; long nanoseconds; } moment;
  int clock_gettime(int clock, moment *now);
]])

local MONOTONIC = 1
local LINE = 37
local FOREVER_MS = 600000
local now = ffi.new("moment")
local threads = 0

local function seconds()
  ffi.C.clock_gettime(MONOTONIC, now)
  return tonumber(now.seconds) + tonumber(now.nanoseconds) / 1e9
end

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init(args)
  local file = assert(io.open(args[1], "rb"))
  uuids = file:read("*a")
  file:close()
  count = #uuids / LINE
  length = tonumber(args[2])
  sending = tonumber(args[3])
  local method = length > 0 and "POST" or "GET"
  head = method .. " /ping/"
  tail = " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\n"
  if length > 0 then
    local letters = {}
    math.randomseed(7)
    for i = 1, length do letters[i] = string.char(math.random(97, 122)) end
    tail = tail .. "Content-Length: " .. length .. "\r\n\r\n" .. table.concat(letters)
  else
    tail = tail .. "\r\n"
  end
  math.randomseed(os.time() * 16 + number)
end

function request()
  if deadline == nil then deadline = seconds() + sending end
  local at = math.random(0, count - 1) * LINE
  return head .. uuids:sub(at + 1, at + LINE - 1) .. tail
end

function delay()
  if deadline ~= nil and seconds() > deadline then return FOREVER_MS end
  return 0
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    '{"answered":%d,"refused":%d,"broken":%d}\n',
    summary.requests,
    errors.status,
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end
