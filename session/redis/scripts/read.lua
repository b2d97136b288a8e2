-- read: after until reverse count bytes. Answers with the bounds (low, high], the first
-- seq that follows, and records, oldest first.
local was = redis.call('HMGET', SESSION, 'head', 'parent_seq', 'largest')
if not was[1] then
  return {'missing'}
end
local parent_seq, head = tonumber(was[2] or '0'), tonumber(was[1])
local low, high = math.max(tonumber(ARGV[3]), parent_seq), math.min(tonumber(ARGV[4]), head)
local reverse, count, room = ARGV[5] == '1', math.min(tonumber(ARGV[6]), high - low), tonumber(ARGV[7])
-- Where a record is big they are taken a few at a time.
local step = math.max(1, math.min(count, math.floor(room / 2 / math.max(tonumber(was[3] or '0'), 1))))
local parts, taken, size = {}, 0, 0
while taken < count and size < room do
  local n = math.min(step, count - taken)
  local first = reverse and high - taken - n + 1 or low + taken + 1
  local part = redis.call('LRANGE', RECORDS, first - parent_seq - 1, first - parent_seq + n - 2)
  parts[#parts + 1] = part
  taken = taken + n
  if #part < n then
    break
  end
  for _, record in ipairs(part) do
    size = size + #record
  end
end
local function text(n)
  return string.format('%.0f', n)
end
local first = reverse and high - taken + 1 or low + 1
local out = {'ok', text(low), text(high), text(first), text(math.max(taken, 0))}
for i = 1, #parts do
  for _, record in ipairs(parts[reverse and #parts + 1 - i or i]) do
    out[#out + 1] = record
  end
end
return out
