-- SPDX-License-Identifier: Apache-2.0
-- For wrk: POST /v1/strict/next with BATCH keys of 10 million, 64 different bodies in turn. BATCH=0: GET
-- /healthz, so that wrk does the same for the server's ceiling.
local batch = tonumber(os.getenv("BATCH") or "1")
local requests, next = {}, 0

function init()
  math.randomseed(42)
  local headers = {["Host"] = "127.0.0.1", ["Content-Type"] = "application/json"}
  for i = 1, 64 do
    local uids = {}
    for k = 1, batch do uids[k] = string.format('"%d"', math.random(0, 9999999)) end
    local body = '{"uids":[' .. table.concat(uids, ",") .. "]}"
    requests[i] = batch > 0 and wrk.format("POST", "/v1/strict/next", headers, body)
      or wrk.format("GET", "/healthz", headers)
  end
end

function request()
  next = next % 64 + 1
  return requests[next]
end
